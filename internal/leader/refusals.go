package leader

import (
	"errors"
	"time"
)

// refusedApart is the least time between two refused calls that together prove that a process
// has ended. A single call may reach a process that is just opening its listener.
const refusedApart = 30 * time.Millisecond

// Refusals decides by calls to one address whether the process there has ended. The zero value has
// no calls. A busy or stopped process refuses nothing: its system accepts connections until the
// listener's queue is full, and then drops them.
type Refusals struct {
	refused     bool          // the last call was
	first, last time.Duration // start times: the first and the last consecutive refusal
}

// Note records a call's start by any monotonic clock, and its outcome. An error that matches
// [ErrAbsent] is a refusal.
func (r *Refusals) Note(began time.Duration, err error) {
	switch {
	case !errors.Is(err, ErrAbsent):
		r.refused = false
	case !r.refused:
		r.refused, r.first, r.last = true, began, began
	default:
		r.last = max(r.last, began)
	}
}

// Prove reports whether the last calls prove that the process has ended.
func (r *Refusals) Prove() bool { return r.refused && r.last-r.first >= refusedApart }
