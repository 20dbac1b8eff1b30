// Package sequencer defines IDs and the handles that generate them.
//
// Most users need three things: a [Sequencer], which a grid member or client returns, its method
// [Sequencer.Next], and [Define] to decompose IDs without a grid:
//
//	orders, err := member.CreateSequencer(ctx, "orders", sequencer.Config{})
//	id, err := orders.Next(ctx)
//
// An [ID] is 63 bits: milliseconds since the sequencer's epoch, the logical node that made it, and
// a counter; a [Layout] divides them differently, for instance like Twitter's IDs, or into 53 bits.
// IDs that one goroutine takes from a Sequencer ascend; IDs of one sequencer are never equal,
// whichever process made them. A process that needs more IDs than one logical node has uses a
// [Striped].
//
// # Why IDs are unique
//
// A handle generates IDs only for a logical node that the grid has attached to
// it, and only for timestamps inside the grant it was given, a span of time. The grid never gives
// overlapping grants of one logical node to two attachments (package partition).
// Since every ID carries its timestamp and node, two attachments cannot make the
// same ID, and a [Sequencer] uses each (timestamp, counter) once. This does not
// depend on clocks, or on a process noticing that it has been replaced.
//
// Apart from the handle, which can wait, everything here is a pure value: time
// comes in as an argument. The package starts no goroutine, and a timer only while
// callers use up most of the ID space.
package sequencer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// State is a handle's state.
//
//	         AttachLogicalNode, or Next after an idle detach,
//	         or by itself after the logical node was lost
//	Detached ----------------------------------------------> Attached
//	   |     <---------------------------------------------     |
//	   |          DetachLogicalNode, or idle, or closed,        |
//	   |          or the grid gave the logical node to another  |
//	   |          holder and nothing that was granted is left   |
//	   +-----------------------+--------------------------------+
//	                           v  Destroy, here or anywhere in the grid
//	                       Destroyed, permanently
//
// A handle loses its logical node when its process is silent for longer than a session, for
// instance while paused or cut off. In most cases the first reply afterwards brings another one.
// Until then the handle is Attached while its last grant lasts, and issues IDs under it; afterwards
// it is Detached.
type State int

// Handle states.
const (
	Detached  State = iota // has no logical node
	Attached               // has a logical node; Next works
	Destroyed              // this life of the sequencer has ended
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case Detached:
		return "Detached"
	case Attached:
		return "Attached"
	case Destroyed:
		return "Destroyed"
	}
	return fmt.Sprintf("State(%d)", int(s))
}

// Sequencer is a process's handle on a named sequencer. All methods may be
// called from any number of goroutines. A member or a client returns one; the methods of
// the zero value panic, since a check would be paid by each call of Next.
type Sequencer struct {
	def     Definition
	life    bridge.Life
	backend bridge.Backend[NodeID]
	clock   bridge.Clock

	now  atomic.Pointer[tenure] // the current state
	turn chan struct{}          // has one token: attach, detach and destroy run one at a time
	idle atomic.Int64           // DetachWhenIdle, in ns

	counts    counts
	waits     atomic.Uint64
	longest   atomic.Int64 // ns
	waited    atomic.Int64 // ns, all grant waits together
	waitsOpen atomic.Int64 // current waits in Next or Fill
}

// tenure is an immutable snapshot of a handle; every change creates a new one.
type tenure struct {
	state State
	gen   *generator       // not nil exactly when Attached
	by    detachment       // the reason for Detached
	final error            // ErrDestroyed or ErrClosed: permanent
	last  clustertime.Tick // a later attachment starts above it
	node  preference       // the last logical node
	lost  *loss            // not nil exactly when it is Detached byLoss
}

// loss describes a handle that lost its logical node and has no other yet.
type loss struct {
	cause    error         // result of the last attempt to get another; nil before the first
	replaced chan struct{} // closed when another snapshot of the handle has replaced this one
}

// detachment is the reason why a handle is Detached.
type detachment int

const (
	byNobody detachment = iota // it was never attached
	byCaller                   // DetachLogicalNode: only AttachLogicalNode ends it
	byIdle                     // DetachWhenIdle: Next attaches again
	byLoss                     // the grid gave its logical node to another holder: the backend attaches again
)

// newSequencer returns a handle in state Detached on a life of the sequencer, and the control through
// which its backend renews, ends and observes it.
func newSequencer(def Definition, life bridge.Life, backend bridge.Backend[NodeID], clock bridge.Clock) (*Sequencer,
	*control) {
	s := &Sequencer{def: def, life: life, backend: backend, clock: clock, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	s.now.Store(&tenure{node: preference{Any: true}})
	return s, &control{s: s}
}

// Name returns the sequencer's name.
func (s *Sequencer) Name() string { return s.def.Name() }

// Definition returns the sequencer's definition, which decomposes IDs.
func (s *Sequencer) Definition() Definition { return s.def }

// State returns the handle's state, which may change at any time.
func (s *Sequencer) State() State { return s.now.Load().state }

// LogicalNode returns the handle's logical node, false if it has none.
func (s *Sequencer) LogicalNode() (NodeID, bool) {
	if g := s.now.Load().gen; g != nil {
		return g.node, true
	}
	return 0, false
}

// String returns the handle's name, state and logical node: sequencer "orders": Attached, logical node 7.
func (s *Sequencer) String() string {
	text := fmt.Sprintf("sequencer %q: %v", s.Name(), s.State())
	if node, held := s.LogicalNode(); held {
		text += fmt.Sprintf(", logical node %d", node)
	}
	return text
}

// Next returns the next ID. Below the limit of the ID space it is local: no
// network, no allocation, and a lock to read the clock about once per
// millisecond. It waits when the current millisecond is used up, when the grant has
// ended and the grid has not renewed it, and until it is attached again after an idle
// detach or when its logical node went to another holder.
//
// A call that has to wait, however shortly, fails if ctx has ended or ends meanwhile. A
// call that finds an ID does not check ctx, so an ended context never costs an available
// ID. A loop at full speed therefore ends within a millisecond of its context; one
// that takes fewer IDs than there are has to check ctx.Err() itself.
//
// Errors: ErrDetached (call AttachLogicalNode), ErrDestroyed, ErrClosed, ErrEpochExhausted; and
// when ctx ended a wait, an error that matches ctx.Err() and the cause: ErrGrantExpired;
// ErrNoFreeNode when all logical nodes are attached, after an idle detach or the loss of its own;
// or ErrUnavailable. If the grant has ended and the grid refuses to renew it, since the process may
// no longer use the sequencer, Next returns an error that matches ErrGrantExpired and names the
// reason, without a wait. Only a wait for the next millisecond, when this one is used up, has no
// other cause than ctx.Err().
func (s *Sequencer) Next(ctx context.Context) (ID, error) {
	g := s.now.Load().gen
	if g == nil || !g.saturated.Load() {
		return s.nextExact(ctx, g)
	}
	// Keep this path free of calls: the atomic add waits for the store buffer to
	// drain, and a call fills it.
	slot, ok := g.reserve()
	if !ok || checksClock(slot) {
		return s.nextAsking(ctx, g, slot)
	}
	return g.expand(slot), nil
}

// nextExact is Next outside saturated mode: each call checks that the millisecond of the
// last clock reading still lasts.
func (s *Sequencer) nextExact(ctx context.Context, g *generator) (ID, error) {
	if g == nil || !g.fresh() {
		return s.nextWaiting(ctx, g, -1)
	}
	slot, ok := g.reserve()
	if !ok {
		return s.nextWaiting(ctx, g, slot)
	}
	return g.expand(slot), nil
}

// nextAsking is Next with a slot that checks the clock, or that may not be issued yet.
func (s *Sequencer) nextAsking(ctx context.Context, g *generator, slot int64) (ID, error) {
	if g.holds(slot) && g.fresh() {
		g.backOff(slot)
		return g.expand(slot), nil
	}
	return s.nextWaiting(ctx, g, slot)
}

// nextWaiting is Next after a clock reading; it waits as long as necessary.
func (s *Sequencer) nextWaiting(ctx context.Context, g *generator, held int64) (ID, error) {
	g, slot, _, err := s.take(ctx, 1, g, held)
	if err != nil {
		return 0, err
	}
	return g.expand(slot), nil
}

// Fill fills dst with IDs in ascending order and returns how many it wrote:
// len(dst), or fewer with an error as Next returns it. dst[:n] is valid with an
// error too. It checks ctx as Next does: when it has to wait. It is cheaper per ID
// than Next.
func (s *Sequencer) Fill(ctx context.Context, dst []ID) (n int, err error) {
	for n < len(dst) {
		g, slot, k := s.now.Load().gen, int64(0), 0
		if g != nil {
			slot, k = g.reserveMany(len(dst) - n)
		}
		if k == 0 {
			if g, slot, k, err = s.take(ctx, len(dst)-n, g, -1); err != nil {
				return n, err
			}
		}
		g.fill(dst[n:n+k], slot)
		n += k
	}
	return n, nil
}

// DetachWhenIdle releases the logical node after no ID was issued for d, so that more
// processes than logical nodes can share a sequencer. Next then attaches again by itself,
// and waits while no logical node is free. It also lets Next attach a handle that was never
// attached. A handle whose logical node was given to another holder then gets another one
// at the next call of Next. 0 means never; a negative d means 0.
func (s *Sequencer) DetachWhenIdle(d time.Duration) {
	s.idle.Store(int64(max(d, 0)))
}

// Stats are a handle's counts since its creation.
type Stats struct {
	IDs              uint64        // IDs issued; calls in progress may be included
	GrantWaits       uint64        // calls of Next or Fill that had to wait for a grant
	LongestGrantWait time.Duration // longest of those waits, among waits that have ended and began at a known time
	GrantWaited      time.Duration // sum of those waits
	WaitingNow       int           // calls of Next or Fill that currently wait, for any reason
	GrantUntil       time.Time     // end of the current grant, in cluster time; zero without one
}

// Stats returns the handle's counts.
func (s *Sequencer) Stats() Stats {
	g := s.now.Load().gen
	passed := s.counts.done.Load() - s.counts.lost.Load()
	if g != nil {
		passed += max(g.next.Load()-g.start, 0) // once it is stopped, counts includes its slots
	}
	st := Stats{
		IDs:              uint64(max(passed, 0)),
		GrantWaits:       s.waits.Load(),
		LongestGrantWait: time.Duration(s.longest.Load()),
		GrantWaited:      time.Duration(s.waited.Load()),
		WaitingNow:       int(s.waitsOpen.Load()),
	}
	if g != nil {
		if until := g.rights.Load().until(); until > 0 {
			st.GrantUntil = until.Time()
		}
	}
	return st
}
