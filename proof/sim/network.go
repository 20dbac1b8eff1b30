package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

var (
	errTimeout = fmt.Errorf("sim: no answer: %w", context.DeadlineExceeded)
	errRefused = fmt.Errorf("sim: no such process at the address: %w", sequencer.ErrUnavailable)
)

// network carries messages between places.
type network struct {
	w     *world
	cut   map[[2]int]time.Duration // by direction: end of the cut
	calm  bool                     // nothing is lost, late or duplicated
	loss  float64
	twice float64
	slow  float64 // probability of a long delay
	late  time.Duration
}

// reaches reports whether messages pass from one place to another.
func (n *network) reaches(from, to int) bool {
	return from == to || n.cut[[2]int{from, to}] <= n.w.now
}

// both reports whether messages pass in both directions.
func (n *network) both(a, b int) bool { return n.reaches(a, b) && n.reaches(b, a) }

func (n *network) delay() time.Duration {
	if !n.calm && n.w.chance(n.slow) {
		if n.w.chance(0.1) {
			return n.w.between(0, n.late)
		}
		return n.w.between(0, 2*time.Second)
	}
	return n.w.between(100*time.Microsecond, 5*time.Millisecond)
}

// send runs a function at a process: once, twice or never.
func (n *network) send(from, to *process, do func()) {
	switch {
	case from == to:
		n.w.after(0, func() { to.do(do) })
		return
	case !n.reaches(from.place, to.place), !n.calm && n.w.chance(n.loss):
		return
	case !n.calm && n.w.chance(n.twice):
		n.w.after(n.delay()+n.w.between(0, 3*time.Second), func() { to.do(do) })
	}
	n.w.after(n.delay(), func() { to.do(do) })
}

// callPeer makes a call between members. A member ignores calls from another grid (R9), or under
// another claim to the grid's anchor (A9).
func callPeer[T any](from, to *member, timeout time.Duration, serve func(reply func(T)), done func(T, error)) {
	claim, grid := from.roster.Claim, from.of()
	call(&from.process, &to.process, timeout, func(reply func(T)) {
		if to.of() == grid && !to.roster.Refuses(to.inc, claim) {
			serve(reply)
		}
	}, done)
}

// sendPeer sends a message between members, with the rules in [callPeer].
func sendPeer(from, to *member, do func()) {
	claim, grid := from.roster.Claim, from.of()
	from.w.net.send(&from.process, &to.process, func() {
		if to.of() == grid && !to.roster.Refuses(to.inc, claim) {
			do()
		}
	})
}

// call makes a call to a process. It calls done once: with the reply, or with an error on timeout.
func call[T any](from, to *process, timeout time.Duration, serve func(reply func(T)), done func(T, error)) {
	open := true
	end := func(value T, err error) {
		if open {
			open = false
			done(value, err)
		}
	}
	var none T
	n := &from.w.net
	if !to.alive && n.both(from.place, to.place) {
		from.after(min(n.delay(), timeout), func() { end(none, errRefused) })
		return
	}
	n.send(from, to, func() {
		serve(func(value T) { n.send(to, from, func() { end(value, nil) }) })
	})
	from.after(timeout, func() { end(none, errTimeout) })
}
