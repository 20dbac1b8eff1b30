package anchor

import (
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// DefaultAhead is how far ahead of cluster time the limit is kept if nothing is stated.
const DefaultAhead = 30 * time.Second

const (
	// Timeout is how long a read or a swap may take; its outcome is unknown then.
	Timeout = 5 * time.Second

	retryFirst = 200 * time.Millisecond // after a failure, doubling
	retryMost  = 2 * time.Second
	watchEvery = 2 * time.Second  // how often a record that others hold is read
	settling   = 10 * time.Second // in which one that has taken the record extends it
	// jumpLimit is how far the limit goes beyond the ceiling besides Ahead: a clock that
	// is far ahead must not move it for all lives to come.
	jumpLimit = 10 * time.Minute
)

// State is how the leader stands to the record.
type State string

// The states.
const (
	Unread  State = "unread"       // it was not read yet, or not since the store is away
	Held    State = "held"         // it is the grid's
	Taking  State = "taking"       // it is being taken
	Waiting State = "waiting"      // another life may hold it; it is taken when that life is over
	Lost    State = "anchor_taken" // another grid has taken it: this one grants no further
	Missing State = "deleted"      // it is gone; a person has to decide
	Damaged State = "damaged"      // its body is not a record
)

// View is the leader's state when it calls its [Machine].
type View struct {
	Roster *roster.Roster
	Mono   time.Duration    // its monotonic clock
	Wall   clustertime.Tick // its wall clock
	Need   clustertime.Tick // a limit that is needed at least, 0 for none
	Draw   Draw             // fresh in each call
}

// Step is a request of the machine: a read, a swap, or nothing.
type Step struct {
	Read bool
	Swap *Swap
}

// Outcome is the result of a step.
type Outcome struct {
	Seen Seen // of a read, and of a swap that happened its revision
	// Err is nil, or the reason of a missing result: ErrRefused, ErrDamaged, or any other for a
	// store that did not answer.
	Err error
}

// Result returns the result of a read, or why there is none.
func (o Outcome) Result() (Seen, error) { return o.Seen, o.Err }

// ErrRefused is the outcome of a swap that has surely not happened: the record was not at
// its revision.
var ErrRefused = errors.New("anchor: the record has changed")

// Machine decides about the record during one lead. One step at a time is being carried
// out.
//
//	          not a member, or no claim             the take has happened, and the reset
//	unread ------------------------------> waiting, taking -------------------> held <--+
//	   |                                      ^                                  |      | extended
//	   |  a member                            | its taker is gone, or a person   +------+
//	   +-----------------> held ----------> lost
//	                            other claim
type Machine struct {
	Authority
	ahead time.Duration

	busy  bool          // a step is being carried out
	known bool          // seen is the result of the last step
	seen  Seen          // the newest state of the record
	first time.Duration // when this revision was seen first
	// changes counts the revisions that were seen.
	changes int
	next    time.Duration // when the record is read again
	retry   time.Duration // the pause after the next failure

	forced    bool  // a person says that it is to be taken
	failure   error // of the last step
	extending bool  // the limit was extended in this lead
}

// New returns the machine of a leader; 0 is the default of ahead.
func New(self roster.Incarnation, ahead time.Duration) *Machine {
	if ahead == 0 {
		ahead = DefaultAhead
	}
	return &Machine{Authority: Authority{Self: self}, ahead: ahead, retry: retryFirst}
}

// Ahead returns how far ahead of cluster time the limit is kept: two windows at least.
func (m *Machine) Ahead(r *roster.Roster) clustertime.Span {
	return max(clustertime.SpanOf(m.ahead), 2*r.Settings.Window)
}

// Take has the record taken on a person's request, from any present holder.
func (m *Machine) Take() { m.forced = true }

// Step returns the next request.
func (m *Machine) Step(v View) Step {
	switch {
	case m.busy:
		return Step{}
	case !m.known || v.Mono >= m.next:
		if v.Mono < m.next {
			return Step{}
		}
		m.busy = true
		return Step{Read: true}
	}
	if s := m.swap(v); s != nil {
		m.busy = true
		return Step{Swap: s}
	}
	return Step{}
}

// swap returns the swap that is due, nil for none.
func (m *Machine) swap(v View) *Swap {
	var s Swap
	var err error
	switch m.State(v) {
	case Waiting, Lost:
		if !m.mayTake(v) {
			return nil
		}
		s, err = m.Authority.Take(v.Roster, m.seen, v.Draw)
		m.forced = false
	case Missing:
		if !m.forced {
			return nil
		}
		s = m.Recreate(v.Roster, v.Draw)
		m.forced = false
	case Held:
		if stop := v.Roster.Stopped; stop > 0 {
			s, err = m.Lower(v.Roster, m.seen, stop, v.Draw)
			break
		}
		to := m.target(v)
		if to <= m.seen.Record.Ceiling {
			return nil
		}
		s, err = m.Extend(v.Roster, m.seen, to, v.Draw)
		m.extending = true
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	return &s
}

// mayTake reports whether the life that holds the record is over, as far as this leader
// can know (A7). Safety does not depend on it.
func (m *Machine) mayTake(v View) bool {
	switch {
	case m.forced || m.seen.Absent() || m.seen.Record.Holder == m.Self:
		return true
	case v.Mono-m.first >= m.Ahead(v.Roster).Duration()*3/2: // its holder would have extended it
		return true
	}
	// A life that begins waits only as long as it has to anyway: a holder that runs keeps
	// the limit ahead of the clock. One that has just taken the record needs a moment.
	settled := m.changes <= 1 || v.Mono-m.first >= settling
	return !m.Registered(v.Roster) && v.Wall >= m.seen.Record.Ceiling && settled
}

// target returns the limit that the record is to have. It follows the agreed time alone
// (R1), and is moved when half of the distance is left.
func (m *Machine) target(v View) clustertime.Tick {
	r, ahead, have := v.Roster, m.Ahead(v.Roster), m.seen.Record.Ceiling
	to := r.Time.Add(ahead)
	if m.extending {
		to = min(to, r.Ceiling.Add(ahead+clustertime.SpanOf(jumpLimit)))
	}
	if r.Time == 0 || have >= r.Time.Add(ahead/2) {
		to = have
	}
	return max(to, v.Need)
}

// Seen returns the record as it was seen last, and why the last step has no result.
func (m *Machine) Seen() (Record, error) { return m.seen.Record, m.failure }

// Done takes the outcome of the step that was asked for.
func (m *Machine) Done(v View, step Step, out Outcome) {
	m.busy = false
	if out.Err == nil && step.Swap != nil {
		m.Landed(v.Roster, *step.Swap)
		out.Seen.Record = step.Swap.Record
	}
	switch {
	case out.Err == nil:
		m.note(v, out.Seen)
	case errors.Is(out.Err, ErrRefused): // read the present record
		m.known, m.next = false, v.Mono
	default: // also unknown: only a read tells
		m.known, m.next, m.failure = false, v.Mono+m.retry, out.Err
		m.retry = min(2*m.retry, retryMost)
	}
}

// note takes a state of the record.
func (m *Machine) note(v View, seen Seen) {
	if seen.Revision != m.seen.Revision {
		m.first = v.Mono
		m.changes++
	}
	m.seen, m.known, m.failure, m.retry = seen, true, nil, retryFirst
	if !seen.Absent() {
		m.Saw(v.Roster, seen.Record)
	}
	m.next = v.Mono + watchEvery
	if m.State(v) == Held {
		m.next = v.Mono + m.Ahead(v.Roster).Duration()
	}
}

// State returns how this leader stands to the record.
func (m *Machine) State(v View) State {
	_, reset := m.Reset(v.Roster, roster.Member{})
	switch {
	case errors.Is(m.failure, ErrDamaged):
		return Damaged
	case !m.known:
		return Unread
	case reset:
		return Taking
	case m.seen.Absent() && v.Roster.Claim != "":
		return Missing
	case !m.Registered(v.Roster):
		return Waiting
	case m.seen.Record.Claim != v.Roster.Claim:
		return Lost
	}
	return Held
}
