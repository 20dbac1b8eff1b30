package sequencer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/failure"
)

// maxStripes is the largest number of logical nodes in one Striped. If a sequencer has fewer than
// 128 nodes, the limit is half of them, so one process cannot take all nodes by mistake.
const maxStripes = bridge.MaxStripes

// Striped is one handle over several logical nodes of a sequencer, its stripes. A process needs it
// for more IDs per millisecond than one logical node has, or if its goroutines contend for one
// counter. Most users need a [Sequencer]. All methods may be called from any number of goroutines.
//
// A Striped gives up order. The IDs that one goroutine gets ascend per logical node, not across
// nodes: two IDs in succession may have different nodes, and the later one may be smaller, within a
// millisecond or by a few milliseconds. Use a Sequencer if the order within one goroutine matters.
// IDs are unique in both cases.
//
// It has 1 to 64 stripes, and at most half of the sequencer's logical nodes, so that one process cannot
// take all of them by mistake. It has them from the beginning to [Striped.Leave], without attach and idle detach.
//
// A member or a client returns one; the methods of the zero value panic.
type Striped struct {
	stripes []*Sequencer // at least one, all on one life
	leave   func(context.Context) error

	_     [128]byte // separates the constant fields from the written ones
	cells [1 << cellBits]cell
}

// cellBits sets the number of cells, so that few concurrent goroutines share one.
const cellBits = 8

// cell is the stripe that some goroutines try first, a striped counter as in LongAdder. They keep
// it until another goroutine takes from the same stripe concurrently, since processors that share a
// counter wait for each other.
type cell struct{ at atomic.Uint32 }

func (c *cell) stripe() int { return int(c.at.Load()) }

// move stores only a changed value: cells share cache lines.
func (c *cell) move(stripe int) {
	if c.stripe() != stripe {
		c.at.Store(uint32(stripe))
	}
}

// newStripedOver returns one handle over several; see package attachment.
func newStripedOver(stripes []*Sequencer, leave func(context.Context) error) (*Striped, error) {
	if len(stripes) == 0 {
		return nil, failure.Errorf(ErrInvalidConfig, "sequencer: no stripes: give 1 to %d", maxStripes)
	}
	if err := stripes[0].def.checkStripes(len(stripes)); err != nil {
		return nil, err
	}
	for i, h := range stripes {
		if h.def != stripes[0].def || h.life != stripes[0].life {
			return nil, failure.Errorf(ErrInvalidConfig,
				"sequencer %q: stripe %d is of another sequencer or another life: give handles of one", h.Name(), i)
		}
		if slices.Contains(stripes[:i], h) {
			return nil, failure.Errorf(ErrInvalidConfig,
				"sequencer %q: stripe %d is given twice: give handles with a logical node each", h.Name(), i)
		}
	}
	s := &Striped{stripes: slices.Clone(stripes), leave: leave}
	for i := range s.cells {
		s.cells[i].move(i % len(stripes))
	}
	return s, nil
}

// checkStripes returns nil if one process may have n logical nodes of the sequencer in one Striped: 1
// to maxStripes, and at most half of its nodes. Errors: ErrInvalidConfig.
func (d Definition) checkStripes(n int) error {
	most := min(maxStripes, d.nodes.Count(d.layout.nodes())/2)
	switch {
	case n < 1:
		return failure.Errorf(ErrInvalidConfig, "sequencer %q: %d stripes are fewer than 1: give 1 to %d", d.Name(), n, most)
	case n > most:
		return failure.Errorf(ErrInvalidConfig,
			"sequencer %q: %d stripes are more than %d: give 1 to %d, or define a sequencer with fewer nodes, whose nodes "+
				"have more IDs a millisecond", d.Name(), n, most, most)
	}
	return nil
}

// Next returns an ID from any stripe. Like [Sequencer.Next] it is local and allocates nothing. It
// waits, and checks ctx, only while no stripe has an ID: a stripe whose millisecond is used up, or
// whose grant was not renewed, stops no caller while another one has IDs.
//
// Errors, when no stripe has an ID: ErrDestroyed if the life has ended, else ErrEpochExhausted,
// ErrClosed after Leave or when the member or client was closed, and ErrDetached. When ctx ended a
// wait, an error that matches ctx.Err() and usually the cause, ErrGrantExpired, ErrNoFreeNode or
// ErrUnavailable, as in Sequencer.Next.
func (s *Striped) Next(ctx context.Context) (ID, error) {
	at := s.cell()
	stripe := at.stripe()
	if g := s.stripes[stripe].now.Load().gen; g != nil {
		slot, ok := g.quick()
		if ok {
			if g.contended(slot) {
				s.part(at)
			}
			return g.expand(slot), nil
		}
		g.drop(slot)
	}
	a, err := s.take(ctx, 1, stripe)
	if err != nil {
		return 0, err
	}
	at.move(a.stripe)
	return a.gen.expand(a.slot), nil
}

// part moves the goroutines of a cell to a random stripe.
func (s *Striped) part(at *cell) { at.move(rand.IntN(len(s.stripes))) }

// cell returns the calling goroutine's cell. It identifies goroutines by the address of the call on
// their stacks, which costs nothing; a goroutine whose stack moves may get another cell.
func (s *Striped) cell() *cell {
	const (
		smallest = 11                 // log2 of the smallest stack size
		golden   = 0x9E3779B97F4A7C15 // Fibonacci hashing: Knuth, volume 3, section 6.4
	)
	var here byte
	return &s.cells[uint64(uintptr(unsafe.Pointer(&here)))>>smallest*golden>>(64-cellBits)]
}

// Fill fills dst with IDs and returns how many it wrote: len(dst), or fewer with an error as Next
// returns it. dst[:n] is valid with an error too. It takes the IDs of one stripe, then continues
// with the next, and waits only when none has any, so dst ascends per logical node only. It is
// cheaper per ID than Next.
func (s *Striped) Fill(ctx context.Context, dst []ID) (n int, err error) {
	at := s.cell()
	for n < len(dst) {
		a, err := s.take(ctx, len(dst)-n, at.stripe())
		if err != nil {
			return n, err
		}
		a.gen.fill(dst[n:n+a.k], a.slot)
		n += a.k
		if at.move(a.stripe); a.gen.contended(a.slot + int64(a.k) - 1) {
			s.part(at)
		}
	}
	return n, nil
}

// Name returns the sequencer's name.
func (s *Striped) Name() string { return s.stripes[0].Name() }

// Definition returns the sequencer's definition, which decomposes IDs.
func (s *Striped) Definition() Definition { return s.stripes[0].Definition() }

// LogicalNodes returns the handle's logical nodes, ascending. The grid may replace one by another.
func (s *Striped) LogicalNodes() []NodeID {
	var nodes []NodeID
	for _, h := range s.stripes {
		if node, held := h.LogicalNode(); held {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// State returns Attached while any stripe is attached; else Destroyed if the life has ended, and
// Detached if not. It may change at any time.
func (s *Striped) State() State {
	state := Detached
	for _, h := range s.stripes {
		switch h.State() {
		case Attached:
			return Attached
		case Destroyed:
			state = Destroyed
		}
	}
	return state
}

// String returns the handle's name, state and logical nodes: sequencer "orders": Attached, logical nodes 8, 9.
func (s *Striped) String() string {
	text := fmt.Sprintf("sequencer %q: %v", s.Name(), s.State())
	for i, node := range s.LogicalNodes() {
		text += []string{", logical nodes ", ", "}[min(i, 1)] + fmt.Sprint(node)
	}
	return text
}

// Stats returns the counts of all stripes together. LongestGrantWait is their longest, and
// GrantUntil the earliest end of a stripe's grant.
func (s *Striped) Stats() Stats {
	var sum Stats
	for _, h := range s.stripes {
		st := h.Stats()
		sum.IDs += st.IDs
		sum.GrantWaits += st.GrantWaits
		sum.GrantWaited += st.GrantWaited
		sum.LongestGrantWait = max(sum.LongestGrantWait, st.LongestGrantWait)
		sum.WaitingNow += st.WaitingNow
		if sum.GrantUntil.IsZero() || !st.GrantUntil.IsZero() && st.GrantUntil.Before(sum.GrantUntil) {
			sum.GrantUntil = st.GrantUntil
		}
	}
	return sum
}

// Leave releases every logical node and ends the handle; Next returns ErrClosed from then on. After
// an error, too, the handle has ended, and the grid reclaims the nodes, at the latest after its
// window. A destroyed sequencer has nothing to release.
//
// Errors: ErrClosed if the handle has ended before; and, when ctx ended, an error that matches
// ctx.Err() and ErrUnavailable.
func (s *Striped) Leave(ctx context.Context) error { return s.leave(ctx) }

// Destroy ends this life of the sequencer in the whole grid, as [Sequencer.Destroy]
// does.
//
// Errors: ErrClosed; and, when ctx ended, an error that matches ctx.Err() and
// ErrUnavailable: the sequencer may be destroyed then or not.
func (s *Striped) Destroy(ctx context.Context) error {
	if err := s.stripes[0].Destroy(ctx); err != nil {
		return err
	}
	for _, h := range s.stripes[1:] {
		h.end(Destroyed, ErrDestroyed) // if the backend has not done so
	}
	return nil
}
