package session

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Pauses between two tries of a call grow from the first to the last.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 400 * time.Millisecond
)

// slowCall is the time after which a call's driver checks whether the partition has a new owner.
const slowCall = 200 * time.Millisecond

// Call decides, try by try, how a request reaches the owner of its name. Its driver
// tries the owner that [Machine.Owner] returns; without an answer it looks the owner up
// after each [SlowTry], and cancels the try if there is another owner.
//
// It is used under the same lock as its machine.
type Call struct {
	rand  func(below time.Duration) time.Duration
	spent *retries
	pause time.Duration // after the next failure
	// overloaded is set if an overloaded member refused the last try.
	overloaded bool
	owner      string // of the last try that failed
	moves      int    // tries in succession, each at another owner than the one before
}

// Retry precedes the next try of a call.
type Retry struct {
	LookUp bool          // look the owner up
	Pause  time.Duration // then wait
	Follow bool          // after a look-up, wait only until there is another owner
}

// movesMax is the number of owners that a call follows in succession without a pause. The directories of
// two grids at the same addresses name different owners, and would keep a call busy.
const movesMax = 4

// NewCall returns a call that has not been tried.
func (m *Machine) NewCall() *Call {
	return &Call{rand: m.cfg.Rand, spent: &m.retries, pause: firstPause}
}

// SlowTry returns the wait for an answer, after a number of look-ups for another owner, before the
// next one.
func SlowTry(looks int) time.Duration { return slowCall << max(looks-1, 0) }

// Tried applies the end of a try at an owner, "" for none, and reports whether another try could end
// differently. A wrong or unreachable owner leads to a look-up. A slow one does not, since the owner
// has been looked up during the wait. A member that rejects calls for some time, by a quota or because
// it is overloaded, is called again at the time it gave. The first time that needs no look-up; a
// member that stays overloaded may have been replaced.
func (c *Call) Tried(now time.Duration, owner string, err error) (Retry, bool) {
	if c.moves++; owner == c.owner || c.moves > movesMax {
		c.moves = 0
	}
	c.owner = owner
	follow := c.moves < movesMax
	if after := laterBy(err); after > 0 {
		again := c.overloaded
		c.overloaded = errors.Is(err, sequencer.ErrUnavailable)
		return Retry{LookUp: again && c.overloaded, Follow: follow, Pause: after + c.rand(after/2+1)}, true
	}
	c.overloaded = false
	if !passing(err) {
		return Retry{}, false
	}
	half := c.pause / 2
	c.pause = min(2*c.pause, lastPause)
	return Retry{LookUp: !TimedOut(err), Follow: follow, Pause: max(half+c.rand(half+1), c.spent.take(now))}, true
}

// retries is a process's budget for tries after failures. Many calls waiting for one overloaded member
// would otherwise call it more and more often: beyond the budget each waits longer. A call with a
// moved owner goes to the new one regardless, without waiting for its turn.
type retries struct {
	due time.Duration // when the tries that were taken are all due, at one each retryEvery
}

const (
	// retryEvery is the time between two tries on average, and retriesAtOnce how many come
	// earlier.
	retryEvery    = 20 * time.Millisecond
	retriesAtOnce = 100
	// retryWaitMax bounds one wait, so that recovery is noticed soon.
	retryWaitMax = 4 * time.Second
)

// take returns how long to wait before another try.
func (r *retries) take(now time.Duration) time.Duration {
	r.due = min(max(r.due, now)+retryEvery, now+retriesAtOnce*retryEvery+retryWaitMax)
	return max(0, r.due-now-retriesAtOnce*retryEvery)
}

// laterBy returns the retry time from a member that rejected the call, 0 without one.
func laterBy(err error) time.Duration {
	var later interface {
		error
		RetryAfter() time.Duration
	}
	if (errors.Is(err, sequencer.ErrQuota) || errors.Is(err, sequencer.ErrUnavailable)) && errors.As(err, &later) {
		return later.RetryAfter()
	}
	return 0
}

// passing reports whether a call that ended with err is worth another try.
func passing(err error) bool {
	for _, sentinel := range []error{
		roster.ErrWrongOwner, sequencer.ErrUnavailable, sequencer.ErrClosed, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}

// TimedOut reports whether a call ended because its time was over, and for no other reason. Its
// member is then overloaded, or gone without a sign. Sending more requests immediately, to this or
// other members, would prolong an overload.
func TimedOut(err error) bool {
	var timeout interface {
		error
		Timeout() bool
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}
