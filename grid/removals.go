package grid

import (
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// removals records the requests to remove members, for the audit line of each removal: without a
// request the leader removed the member, since it did not answer.
type removals struct {
	mu    sync.Mutex
	asked map[roster.Incarnation]audit.Entry
}

// askedMax bounds the recorded requests.
const askedMax = 1024

// ask records a caller's request to remove a member by an action.
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
