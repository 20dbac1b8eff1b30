package grid

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/signal"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/roster/plan"
	"github.com/snowgrid/snowgrid/wire"
)

// witness is the leader's own eye on the members: it calls each of them again and
// again. Who gossip does not see alive is replaced once these calls fail as well: a
// refused connection, or another process at the address, counts at once; silence
// has to last, longer where it costs a loss. Who gossip sees and the leader does
// not reach, or not with the newest roster, is treated the same a little later: what
// the leader raises does not get there, and the holders there would wait.
type witness struct {
	m    *Member
	ctx  context.Context // ends with the lead
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex // never held while waiting
	calls    map[roster.Incarnation]*calls
	versions []seenVersion // of the roster, ascending; the first is at least lagLimit old
}

// calls is what became of the calls to one member.
type calls struct {
	failing bool
	since   time.Duration // if failing: when the first call that failed began
	refused bool          // the last call was
}

// seenVersion is when this leader first saw a version of the roster.
type seenVersion struct {
	version roster.Version
	at      time.Duration
}

const (
	// silentAfter is how long calls have to fail before a replica that is in
	// sync takes a member's place, deadAfter before what nobody else holds is lost.
	silentAfter = 500 * time.Millisecond
	deadAfter   = 5 * time.Second
	// seenExtra is added to both while gossip sees the member alive.
	seenExtra = 3 * time.Second
	// lagLimit is how old the roster may be that a member knows.
	lagLimit = 2 * time.Second

	callEvery   = time.Second            // while a member answers
	callAgain   = 200 * time.Millisecond // while it does not
	callTimeout = 500 * time.Millisecond
)

func newWitness(m *Member) *witness {
	w := &witness{m: m, calls: map[roster.Incarnation]*calls{}}
	w.ctx, w.stop = context.WithCancel(m.ctx)
	return w
}

func (w *witness) end() {
	w.stop()
	w.done.Wait()
}

// look fills in who is silent and who is gone. It begins to call new members, and
// forgets those that are none any more.
func (w *witness) look(r *roster.Roster, s *plan.Sight) {
	seen := map[roster.Incarnation]bool{}
	for _, p := range w.m.gossip.Peers() {
		seen[p.Incarnation] = true
	}
	now := w.m.clock.Mono()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteVersion(r.Version, now)
	for inc := range w.calls {
		if _, member := r.Member(inc); !member {
			delete(w.calls, inc)
		}
	}
	for _, member := range r.Members {
		inc := member.Incarnation
		c := w.calls[inc]
		switch {
		case inc == w.m.self:
		case c == nil:
			c = &calls{}
			w.calls[inc] = c
			w.done.Go(func() { w.watch(member, c) })
		case c.gone(seen[inc], now):
			s.Gone = append(s.Gone, inc)
		case c.silent(seen[inc], now):
			s.Silent = append(s.Silent, inc)
		}
	}
}

// silent reports whether others that hold the same may take a member's place.
func (c *calls) silent(seen bool, now time.Duration) bool {
	return c.failing && now-c.since >= silentAfter+extra(seen) || c.refused && !seen
}

// gone reports whether a member is taken out.
func (c *calls) gone(seen bool, now time.Duration) bool {
	return c.failing && now-c.since >= deadAfter+extra(seen) || c.refused && !seen
}

func extra(seen bool) time.Duration {
	if seen {
		return seenExtra
	}
	return 0
}

// noteVersion keeps when versions were first seen. It must be called with mu held.
func (w *witness) noteVersion(v roster.Version, now time.Duration) {
	if n := len(w.versions); n == 0 || w.versions[n-1].version < v {
		w.versions = append(w.versions, seenVersion{v, now})
	}
	for len(w.versions) > 1 && now-w.versions[1].at >= lagLimit {
		w.versions = w.versions[1:]
	}
}

// watch calls a member until it is no member any more, or this one leads no more.
func (w *witness) watch(member roster.Member, c *calls) {
	for w.ctx.Err() == nil && w.watched(member.Incarnation, c) {
		began := w.m.clock.Mono()
		ctx, cancel := context.WithTimeout(w.ctx, callTimeout)
		res, err := w.m.hello(ctx, member.API, member.Incarnation)
		cancel()
		pause := callEvery
		if w.note(c, began, res.Version, err) {
			pause = callAgain
		}
		signal.Sleep(w.ctx, pause)
	}
}

// doubts reports whether the last call to a member failed.
func (w *witness) doubts(inc roster.Incarnation) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[inc]
	return c != nil && c.failing
}

// watched reports whether what becomes of the calls is still of use.
func (w *witness) watched(inc roster.Incarnation, c *calls) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[inc] == c
}

// note keeps what became of a call, and reports whether it failed.
func (w *witness) note(c *calls, began time.Duration, version roster.Version, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	lags := len(w.versions) > 0 && version < w.versions[0].version
	if err == nil && !lags {
		*c = calls{}
		return false
	}
	if !c.failing {
		c.failing, c.since = true, began
	}
	c.refused = refused(err)
	return true
}

// refused reports whether an error proves that the incarnation is not there.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wire.ErrNotAddressed)
}
