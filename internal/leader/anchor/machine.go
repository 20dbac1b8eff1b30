package anchor

import (
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// defaultAhead is the default distance from cluster time to the limit.
const defaultAhead = 30 * time.Second

const (
	// Timeout bounds a read or a swap; after it the outcome is unknown.
	Timeout = 5 * time.Second

	retryFirst = 200 * time.Millisecond // the first pause after a failure; it doubles
	retryMost  = 2 * time.Second
	watchEvery = 2 * time.Second  // the interval between reads while other grids hold the record
	settling   = 10 * time.Second // the time in which a new holder extends the record
	// jumpLimit bounds the limit's distance from the ceiling, in addition to Ahead: a clock that is
	// far ahead must not move the limit for all later generations.
	jumpLimit = 10 * time.Minute
)

// State is the leader's relation to the record.
type State string

// The states.
const (
	Unread  State = "unread"       // not read yet, or not since the store became unavailable
	Held    State = "held"         // this grid holds it
	Taking  State = "taking"       // a take is in progress
	Waiting State = "waiting"      // another generation may hold it; taken when that one is over
	Lost    State = "anchor_taken" // another grid has taken it; this one stops granting
	Missing State = "deleted"      // it is gone; an operator has to decide
	Damaged State = "damaged"      // its body is not a record
)

// View is the leader's state when it calls its [Machine].
type View struct {
	Roster *roster.Roster
	Mono   time.Duration    // its monotonic clock
	Wall   clustertime.Tick // its wall clock
	Need   clustertime.Tick // the minimum limit, 0 for none
	Draw   Draw             // fresh for each call
}

// Step is a request from the machine: a read, a swap, or nothing.
type Step struct {
	Read bool
	Swap *Swap
}

// Outcome is the result of a step.
type Outcome struct {
	Seen Seen // after a read; after a successful swap only the revision
	// Err is nil, or the reason for a missing result: ErrRefused, ErrDamaged, or any other error
	// for a store that did not reply.
	Err error
}

// Result returns the result of a read, or its error.
func (o Outcome) Result() (Seen, error) { return o.Seen, o.Err }

// ErrRefused is the outcome of a swap that has certainly not happened: the record had another
// revision.
var ErrRefused = errors.New("anchor: the record has changed")

// Machine manages the record during one leadership. At most one step is in progress.
//
//	          not a member, or no claim             the take has happened, and the reset
//	unread ------------------------------> waiting, taking -------------------> held <--+
//	   |                                      ^                                  |      | extended
//	   |  a member                            | its holder is gone, or forced    +------+
//	   +-----------------> held ----------> lost
//	                            other claim
type Machine struct {
	Authority
	ahead time.Duration

	busy  bool // a step is in progress
	known bool // seen is the result of the last step
	seen  Seen // the newest observed state
	// silence has for how long this revision was observed.
	silence Silence
	// changes is the number of observed revisions.
	changes int
	next    time.Duration // when the record is read again
	retry   time.Duration // the pause after the next failure

	forced    bool  // an operator requested a take
	failure   error // the last step's error
	extending bool  // the limit was extended after a raise of this leadership

	stepped bool
	since   clustertime.Tick // the time of the last raise before the first step
}

// New returns a leader's machine; ahead 0 means [defaultAhead].
func New(self roster.Incarnation, ahead time.Duration) *Machine {
	if ahead == 0 {
		ahead = defaultAhead
	}
	return &Machine{Authority: Authority{Self: self}, ahead: ahead, retry: retryFirst}
}

// Ahead returns the distance from cluster time to the limit: at least two windows.
func (m *Machine) Ahead(r *roster.Roster) clustertime.Span { return m.aheadOf(r.Settings.Window) }

func (m *Machine) aheadOf(window clustertime.Span) clustertime.Span {
	return max(clustertime.SpanOf(m.ahead), 2*window)
}

// Patience returns for how long a record stays unchanged before its holder counts as gone: a live one would have
// extended it. The holder may have a larger window than this grid, which has the given one.
func (m *Machine) Patience(window clustertime.Span, held Record) time.Duration {
	return max(m.aheadOf(window), held.Ahead).Duration() * 3 / 2
}

// Take requests a take on behalf of an operator, regardless of the current holder.
func (m *Machine) Take() { m.forced = true }

// Step returns the next request.
func (m *Machine) Step(v View) Step {
	if !m.stepped {
		m.stepped, m.since = true, v.Roster.Time
	}
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

// swap returns the due swap, nil for none.
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
		m.extending = v.Roster.Time > m.since
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	s.Record.Ahead = m.Ahead(v.Roster)
	return &s
}

// mayTake reports whether the generation that holds the record appears to be over (A7). Safety does
// not depend on it.
func (m *Machine) mayTake(v View) bool {
	switch {
	case m.forced || m.seen.Absent() || m.seen.Record.Holder == m.Self:
		return true
	case m.silence.For(v.Mono) >= m.Patience(v.Roster.Settings.Window, m.seen.Record):
		return true
	}
	// A new generation waits no longer than the limit requires: a live holder keeps the limit ahead
	// of the clock. A holder that has just taken the record needs time to extend it.
	settled := m.changes <= 1 || m.silence.For(v.Mono) >= settling
	return !m.Registered(v.Roster) && v.Wall >= m.seen.Record.Ceiling && settled
}

// target returns the new limit for the record. It follows agreed time alone (R1), and advances when
// half the distance is left.
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

// Seen returns the last observed record, and the last step's error.
func (m *Machine) Seen() (Record, error) { return m.seen.Record, m.failure }

// Done processes a step's outcome.
func (m *Machine) Done(v View, step Step, out Outcome) {
	m.busy = false
	if out.Err == nil && step.Swap != nil {
		m.Landed(v.Roster, *step.Swap)
		out.Seen.Record = step.Swap.Record
	}
	switch {
	case out.Err == nil:
		m.note(v, out.Seen)
	case errors.Is(out.Err, ErrRefused): // read the current record
		m.known, m.next = false, v.Mono
	default: // the outcome may be unknown; only a read determines it
		m.silence.Failed()
		m.known, m.next, m.failure = false, v.Mono+m.retry, out.Err
		m.retry = min(2*m.retry, retryMost)
	}
}

// note stores an observed state of the record.
func (m *Machine) note(v View, seen Seen) {
	if seen.Revision != m.seen.Revision {
		m.changes++
	}
	m.silence.Answered(seen.Revision, v.Mono)
	m.seen, m.known, m.failure, m.retry = seen, true, nil, retryFirst
	if !seen.Absent() {
		m.Saw(v.Roster, seen.Record)
	}
	m.next = v.Mono + watchEvery
	if m.State(v) == Held {
		m.next = v.Mono + m.Ahead(v.Roster).Duration()
	}
}

// State returns the leader's relation to the record.
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
