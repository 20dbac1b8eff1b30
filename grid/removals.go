package grid

import (
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// removals knows on whose word members are taken out of the roster, for the audit line of
// each: without a word it was the leader, since the member did not answer.
type removals struct {
	mu    sync.Mutex
	asked map[roster.Incarnation]audit.Entry
}

// askedMax bounds how many members are known whose removal was requested.
const askedMax = 1024

// ask records that a member is to be removed by an action of a caller.
func (r *removals) ask(inc roster.Incarnation, action, who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil || len(r.asked) >= askedMax {
		r.asked = map[roster.Incarnation]audit.Entry{}
	}
	if _, known := r.asked[inc]; !known {
		r.asked[inc] = audit.Entry{Action: action, Who: who}
	}
}

// take returns the action by which a member was removed, and forgets it.
func (r *removals) take(inc roster.Incarnation, leader string) audit.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, asked := r.asked[inc]
	if !asked {
		e = audit.Entry{Action: audit.Remove, Who: leader}
	}
	delete(r.asked, inc)
	return e
}
