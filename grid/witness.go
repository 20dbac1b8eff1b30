package grid

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// witness is the leader's own eye on members that gossip does not see alive.
// Replacing somebody needs both: gossip's word, and calls of the leader's own
// that fail. A refused connection, or another process at the address, counts at
// once; silence has to last, longer where it costs a loss.
type witness struct {
	m    *Member
	ctx  context.Context // ends with the lead
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex // never held while waiting
	watching map[partition.Incarnation]verdict
}

// verdict is what the leader thinks of a member that gossip does not see.
type verdict int

const (
	suspect verdict = iota
	silent          // others that hold the same take its place
	dead            // it is taken out
)

const (
	// silentAfter is how long calls have to fail before a replica that is in
	// sync takes a member's place, deadAfter before what nobody else holds is lost.
	silentAfter = 500 * time.Millisecond
	deadAfter   = 5 * time.Second
	lookAgain   = 200 * time.Millisecond
	lookTimeout = 500 * time.Millisecond
)

func newWitness(m *Member) *witness {
	w := &witness{m: m, watching: map[partition.Incarnation]verdict{}}
	w.ctx, w.stop = context.WithCancel(m.ctx)
	return w
}

func (w *witness) end() {
	w.stop()
	w.done.Wait()
}

// look fills in who is silent and who is gone. It begins to watch whoever gossip
// does not see.
func (w *witness) look(r *partition.Roster, s *partition.Sight) {
	alive := map[partition.Incarnation]bool{w.m.self: true}
	for _, p := range w.m.gossip.peers() {
		alive[p.Incarnation] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, member := range r.Members {
		inc := member.Incarnation
		v, watched := w.watching[inc]
		switch {
		case alive[inc]:
			delete(w.watching, inc)
		case !watched:
			w.watching[inc] = suspect
			w.done.Go(func() { w.call(member) })
		case v == silent:
			s.Silent = append(s.Silent, inc)
		case v == dead:
			s.Gone = append(s.Gone, inc)
		}
	}
}

// call calls a member until it is dead, acquitted, or this member leads no more.
func (w *witness) call(member partition.Member) {
	silentSince := w.m.clock.Mono()
	for w.ctx.Err() == nil && w.suspects(member.Incarnation) {
		ctx, cancel := context.WithTimeout(w.ctx, lookTimeout)
		_, err := w.m.hello(ctx, member.API, member.Incarnation)
		cancel()
		now := w.m.clock.Mono()
		switch {
		case w.ctx.Err() != nil:
		case err == nil:
			silentSince = now
			w.find(member.Incarnation, suspect)
		case refused(err) || now-silentSince >= deadAfter:
			w.find(member.Incarnation, dead)
			return
		case now-silentSince >= silentAfter:
			w.find(member.Incarnation, silent)
		}
		sleep(w.ctx, lookAgain)
	}
}

// refused reports whether an error proves that the incarnation is not there.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wire.ErrNotAddressed)
}

// suspects reports whether a member is still watched.
func (w *witness) suspects(inc partition.Incarnation) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, watched := w.watching[inc]
	return watched
}

// find notes a verdict, unless the member was seen alive meanwhile.
func (w *witness) find(inc partition.Incarnation, v verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, watched := w.watching[inc]; watched {
		w.watching[inc] = v
	}
}
