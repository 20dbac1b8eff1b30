package handles

import (
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Counts are the totals of some handles.
type Counts struct {
	IDs         uint64 // issued
	GrantWaits  uint64 // calls that had to wait for a grant
	GrantWaited time.Duration
}

// add adds the counts of a handle.
func (c *Counts) add(s sequencer.Stats) {
	c.IDs += s.IDs
	c.GrantWaits += s.GrantWaits
	c.GrantWaited += s.GrantWaited
}

// Counted returns every handle, and the counts of those that were dropped: each handle is in
// one of them, so that the total of a client never goes down.
func (r *Registry[S]) Counted() (all []*Entry[S], past Counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all(), r.past
}
