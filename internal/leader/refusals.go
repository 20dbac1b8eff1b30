package leader

import (
	"errors"
	"time"
)

// refusedApart is the least time between two refused calls that prove together that a
// process has ended. One alone may meet a process that opens its listener at that moment.
const refusedApart = 30 * time.Millisecond

// Refusals judges by calls to one address whether the process there has ended. Its zero
// value has seen no call. A process that is busy or stopped refuses nothing: its system
// takes connections until the queue of its listener is full, and drops them then.
type Refusals struct {
	refused     bool          // the last call was
	first, last time.Duration // when the first and the last of those in a row began
}

// Note takes in a call that began at a time by any monotonic clock, and its outcome. An
// error that matches [ErrAbsent] is a refusal.
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
