package store

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Limits for functions of the configuration, which may not return.
const (
	// knownWait bounds the wait of a renewal for the versions.
	knownWait = 100 * time.Millisecond
	// lossesMax bounds the calls of Config.OnLost that have not returned.
	lossesMax = 64
)

// callbacks calls the functions of the configuration in goroutines of their own.
type callbacks struct {
	mu      sync.Mutex     // guards what follows; never held while a function runs
	known   map[int]uint64 // the last result of Config.Known
	running chan struct{}  // closed when its call returns, nil: none runs
	late    bool           // that call has taken longer than knownWait
	losses  int            // calls of Config.OnLost that have not returned
	skipped int            // calls skipped, since earlier ones had not returned
}

// known returns the result of Config.Known without impossible nodes (Z19).
func (c *Client) known() map[sequencer.NodeID]uint64 {
	if c.cfg.Known == nil {
		return nil
	}
	versions := c.calls.versions(c.cfg.Known)
	known := map[sequencer.NodeID]uint64{}
	for _, node := range slices.Sorted(maps.Keys(versions)) {
		if node >= 0 && node < 1<<16 && len(known) < record.KnownMax {
			known[sequencer.NodeID(node)] = versions[node]
		}
	}
	return known
}

// versions returns the result of Config.Known, or the one before if the call does not return in
// time. One call runs at a time.
func (b *callbacks) versions(known func() map[int]uint64) map[int]uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.late {
		b.skipped++
		return b.known
	}
	if b.running == nil {
		b.running = make(chan struct{})
		go func() {
			versions := maps.Clone(known())
			b.mu.Lock()
			defer b.mu.Unlock()
			close(b.running)
			b.known, b.running, b.late = versions, nil, false
		}()
	}
	done := b.running
	b.mu.Unlock()
	select {
	case <-done:
	case <-time.After(knownWait):
	}
	b.mu.Lock()
	if b.running == done {
		b.late = true
		b.skipped++
	}
	return b.known
}

// lost calls Config.OnLost, unless too many calls have not returned.
func (b *callbacks) lost(onLost func(Loss), loss Loss) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.losses >= lossesMax {
		b.skipped++
		return
	}
	b.losses++
	go func() {
		defer func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.losses--
		}()
		onLost(loss)
	}()
}
