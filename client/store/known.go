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
	known   map[int]uint64 // its last result
	knowing chan struct{}  // closed when that call returns, nil: none runs
	late    bool           // that call has taken longer than knownWait
	losses  int            // calls of Config.OnLost that have not returned
	skipped int            // calls that were left out, since earlier ones had not returned
}

// known returns the result of Config.Known without impossible nodes (Z19).
func (c *Client) known() map[sequencer.NodeID]uint64 {
	if c.cfg.Known == nil {
		return nil
	}
	said := c.calls.said(c.cfg.Known)
	known := map[sequencer.NodeID]uint64{}
	for _, node := range slices.Sorted(maps.Keys(said)) {
		if node >= 0 && node < 1<<16 && len(known) < record.KnownMax {
			known[sequencer.NodeID(node)] = said[node]
		}
	}
	return known
}

// said returns the result of a call, and the one before if it does not return in time. One call runs at a
// time.
func (b *callbacks) said(know func() map[int]uint64) map[int]uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.late {
		b.skipped++
		return b.known
	}
	if b.knowing == nil {
		b.knowing = make(chan struct{})
		go b.ask(know, b.knowing)
	}
	done := b.knowing
	b.mu.Unlock()
	timer := time.NewTimer(knownWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	b.mu.Lock()
	if b.knowing == done {
		b.late = true
		b.skipped++
	}
	return b.known
}

// ask makes the call, and records its result.
func (b *callbacks) ask(know func() map[int]uint64, done chan struct{}) {
	said := maps.Clone(know())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known, b.knowing, b.late = said, nil, false
	close(done)
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

// left returns how many calls were left out.
func (b *callbacks) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.skipped
}
