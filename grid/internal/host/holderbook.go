package host

import (
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire"
)

const (
	// bookBytes bounds the memory for holder descriptions. Beyond it a holder is listed without one.
	bookBytes = 16 << 20
	// bookKeeps is the retention of a holder that has neither attached nor renewed.
	bookKeeps = time.Minute
	// holderBytes is the memory of a holder besides its texts.
	holderBytes = 256
)

// holderBook holds the self-descriptions of holders served by this member. They are informational: no
// decision uses them. The zero value is ready.
type holderBook struct {
	mu      sync.Mutex // never held while waiting
	holders map[attachment.HolderID]holder
	bytes   int
	swept   time.Duration
}

type holder struct {
	about wire.About
	addr  string        // where its last request came from
	at    time.Duration // of that
}

func (h holder) size(id attachment.HolderID) int {
	n := holderBytes + len(id) + len(h.addr) + len(h.about.Build)
	for key, value := range h.about.Labels {
		n += len(key) + len(value) + 32
	}
	return n
}

// note keeps a holder's latest statement.
func (b *holderBook) note(now time.Duration, id attachment.HolderID, h holder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holders == nil {
		b.holders = map[attachment.HolderID]holder{}
	}
	if now-b.swept > bookKeeps {
		b.sweep(now)
	}
	h.at = now
	if old, known := b.holders[id]; known {
		b.bytes -= old.size(id)
		delete(b.holders, id)
	}
	if size := h.size(id); b.bytes+size <= bookBytes {
		b.holders[id] = h
		b.bytes += size
	}
}

func (b *holderBook) sweep(now time.Duration) {
	b.swept = now
	for id, h := range b.holders {
		if now-h.at > bookKeeps {
			b.bytes -= h.size(id)
			delete(b.holders, id)
		}
	}
}

func (b *holderBook) of(id attachment.HolderID) (holder, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, known := b.holders[id]
	return h, known
}
