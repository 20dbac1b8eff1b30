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
	cut   map[[2]int]time.Duration // one way, until when
	calm  bool                     // nothing is lost, late or doubled
	loss  float64
	twice float64
	slow  float64 // how many messages take long
	late  time.Duration
}

// reaches reports whether messages get from one place to another.
func (n *network) reaches(from, to int) bool {
	return from == to || n.cut[[2]int{from, to}] <= n.w.now
}

// both reports whether messages get there and back.
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

// send brings something to a process, or not, or twice.
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

// callPeer is a call between members. One takes none of another grid (R9), nor of another claim of the
// grid's anchor (A9).
func callPeer[T any](from, to *member, timeout time.Duration, serve func(reply func(T)), done func(T, error)) {
	claim, grid := from.roster.Claim, from.of()
	call(&from.process, &to.process, timeout, func(reply func(T)) {
		if to.of() == grid && !to.roster.Refuses(to.inc, claim) {
			serve(reply)
		}
	}, done)
}

// sendPeer is a message between members, like [callPeer].
func sendPeer(from, to *member, do func()) {
	claim, grid := from.roster.Claim, from.of()
	from.w.net.send(&from.process, &to.process, func() {
		if to.of() == grid && !to.roster.Refuses(to.inc, claim) {
			do()
		}
	})
}

// call asks a process for something. done is called once: with the answer, or
// with an error when there was none in time.
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
