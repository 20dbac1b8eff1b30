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
// Taking an owner out needs both: gossip's word, and calls of the leader's own
// that fail. A refused connection, or another process at the address, counts at
// once; silence has to last.
type witness struct {
	m    *Member
	ctx  context.Context // ends with the lead
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex // never held while waiting
	watching map[partition.Incarnation]bool
	dead     map[partition.Incarnation]bool
}

const (
	// silence is how long calls have to fail before a member that does not
	// refuse them is taken out. Each of its partitions is lost by that.
	silence     = 5 * time.Second
	lookAgain   = 200 * time.Millisecond
	lookTimeout = 500 * time.Millisecond
)

func newWitness(m *Member) *witness {
	w := &witness{m: m, watching: map[partition.Incarnation]bool{}, dead: map[partition.Incarnation]bool{}}
	w.ctx, w.stop = context.WithCancel(m.ctx)
	return w
}

func (w *witness) end() {
	w.stop()
	w.done.Wait()
}

// gone returns the members that are dead by both witnesses, and those that
// leave. It begins to watch whoever gossip does not see.
func (w *witness) gone(r *partition.Roster) []partition.Incarnation {
	alive := map[partition.Incarnation]bool{w.m.self: true}
	for _, p := range w.m.gossip.peers() {
		alive[p.Incarnation] = true
	}
	var out []partition.Incarnation
	for _, member := range r.Members {
		switch {
		case w.m.leaving(member.Incarnation):
			out = append(out, member.Incarnation)
		case alive[member.Incarnation]:
			w.acquit(member.Incarnation)
		case w.isDead(member.Incarnation):
			out = append(out, member.Incarnation)
		default:
			w.watch(member)
		}
	}
	return out
}

// acquit forgets what was seen of a member that is alive after all.
func (w *witness) acquit(inc partition.Incarnation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.dead, inc)
	delete(w.watching, inc)
}

func (w *witness) isDead(inc partition.Incarnation) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead[inc]
}

// watch begins to call a member, unless that is under way.
func (w *witness) watch(member partition.Member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.watching[member.Incarnation] {
		w.watching[member.Incarnation] = true
		w.done.Go(func() { w.call(member) })
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
		case err == nil:
			silentSince = now
		case w.ctx.Err() == nil && (refused(err) || now-silentSince >= silence):
			w.convict(member.Incarnation)
			return
		}
		select {
		case <-w.ctx.Done():
		case <-time.After(lookAgain):
		}
	}
}

// refused reports whether an error proves that the incarnation is not there.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wire.ErrNotAddressed)
}

func (w *witness) suspects(inc partition.Incarnation) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watching[inc]
}

func (w *witness) convict(inc partition.Incarnation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watching[inc] {
		w.dead[inc] = true
	}
}
