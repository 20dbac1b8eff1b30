package handles

import (
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Counts are totals over some handles.
type Counts struct {
	IDs         uint64 // issued
	GrantWaits  uint64 // calls that had to wait for a grant
	GrantWaited time.Duration
}

func (c *Counts) add(s sequencer.Stats) {
	c.IDs += s.IDs
	c.GrantWaits += s.GrantWaits
	c.GrantWaited += s.GrantWaited
}

// Counted returns every handle, and the counts for dropped handles. Each handle is in exactly one
// result, so that a client's total never decreases.
func (r *Registry[S]) Counted() (all []*Entry[S], past Counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all(), r.past
}
