package sequencer

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// striped is a Striped of attached handles on one clock. Stripe i has logical node
// 10-i and attachment i, which is granted 2000 to 3000.
type striped struct {
	*Striped
	handles []*handle
	clock   *manualClock
	left    int // calls of Leave
}

func newStriped(t testing.TB, stripes int) *striped {
	s := stripedOn(t, stripes, newManualClock(2000))
	s.clock = s.handles[0].Sequencer.clock.(*manualClock)
	return s
}

// stripedOn is one on a clock of any kind.
func stripedOn(t testing.TB, stripes int, clock bridge.Clock) *striped {
	s := &striped{}
	var all []*Sequencer
	for i := range stripes {
		h := stripe(t, i, clock)
		s.handles, all = append(s.handles, h), append(all, h.Sequencer)
	}
	var err error
	s.Striped, err = newStripedOver(all, func(context.Context) error { s.left++; return ErrUnavailable })
	is(t, "new", err, nil)
	return s
}

// forever has every stripe granted until the end of time.
func (s *striped) forever() *striped {
	for i := range s.handles {
		s.renew(i, 1<<40)
	}
	return s
}

// stripe is an attached handle on a clock.
func stripe(t testing.TB, i int, clock bridge.Clock) *handle {
	h := &handle{backend: &fakeBackend{}}
	h.backend.attach = func(preference) (attachment, error) {
		return attachment{ID: numbered(i), Node: NodeID(10 - i), Grant: bridge.Grant{From: 2000, Until: 3000}}, nil
	}
	h.Sequencer, h.control = newSequencer(define(t, 8192), bridge.Life{1}, h.backend, clock)
	is(t, "attach", h.AttachLogicalNode(t.Context()), nil)
	return h
}

// renew gives a stripe a grant until a tick.
func (s *striped) renew(i int, until clustertime.Tick) {
	s.handles[i].control.Renewed(numbered(i), bridge.Grant{From: 2000, Until: until})
}

// tally checks IDs: none twice, and those of one caller ascend for each node.
type tally struct {
	seen map[ID]bool
	of   map[NodeID]int
}

func newTally() *tally { return &tally{seen: map[ID]bool{}, of: map[NodeID]int{}} }

// caller notes all IDs of one caller, in the order in which it got them.
func (y *tally) caller(t testing.TB, def Definition, ids []ID) {
	t.Helper()
	last := map[NodeID]ID{}
	for _, id := range ids {
		node := def.Decompose(id).Node
		if before, any := last[node]; y.seen[id] || any && id <= before {
			t.Fatalf("%d after %d of node %d, or twice", id, before, node)
		}
		y.seen[id], last[node] = true, id
		y.of[node]++
	}
}

// TestStripedHasAllOfItsNodes: Next and Fill return all IDs of a millisecond of all nodes
// before a call waits for the next millisecond.
func TestStripedHasAllOfItsNodes(t *testing.T) {
	for _, filled := range []int{0, 1, 2000, 3 * 1024} {
		synctest.Test(t, func(t *testing.T) {
			s := newStriped(t, 3)
			ids := make([]ID, 3*1024)
			n, err := s.Fill(ended(t), ids[:filled])
			is(t, "fill", err, nil)
			for ; n < len(ids); n++ {
				if ids[n], err = s.Next(ended(t)); err != nil {
					t.Fatalf("%d IDs, then %v", n, err)
				}
			}
			_, err = s.Next(ended(t))
			is(t, "next of a used up millisecond", err, context.Canceled)
			n, err = s.Fill(ended(t), make([]ID, 1))
			is(t, "fill of a used up millisecond", err, context.Canceled)
			seen := newTally()
			seen.caller(t, s.Definition(), ids)
			if n != 0 || seen.of[8] != 1024 || seen.of[9] != 1024 || seen.of[10] != 1024 || s.Stats().IDs != 3*1024 {
				t.Errorf("%v, %d more; %+v", seen.of, n, s.Stats())
			}
			out := s.goNext(t.Context())
			if st := s.Stats(); st.WaitingNow != 1 || st.GrantWaits != 0 {
				t.Errorf("while waiting: %+v", st)
			}
			s.clock.set(2001)
			if r := <-out; r.at != 2001 || r.err != nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestStripedFill: IDs across milliseconds; a failed call returns the IDs it got.
func TestStripedFill(t *testing.T) {
	s := newStriped(t, 3)
	ids := make([]ID, 5000)
	n, err := s.Fill(ended(t), ids)
	is(t, "fill", err, context.Canceled)
	if n != 3*1024 {
		t.Fatalf("%d IDs", n)
	}
	s.clock.set(2001)
	more, err := s.Fill(t.Context(), ids[n:])
	is(t, "fill", err, nil)
	newTally().caller(t, s.Definition(), ids)
	if n+more != len(ids) || s.Stats().IDs != uint64(len(ids)) {
		t.Errorf("%d IDs, %+v", n+more, s.Stats())
	}
	if n, err := s.Fill(ended(t), nil); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestCellStaysUntilItsStripeIsEmpty: a goroutine alone stays where it is while there are IDs, and then uses the
// other stripes.
func TestCellStaysUntilItsStripeIsEmpty(t *testing.T) {
	s := newStriped(t, 3)
	for i := range s.cells {
		s.cells[i].move(0) // the stack may move
	}
	first, err := s.Next(t.Context())
	is(t, "next", err, nil)
	for i := range 3*1024 - 1 {
		id, err := s.Next(ended(t))
		is(t, "next", err, nil)
		if node := s.Definition().Decompose(id).Node; i < 1023 != (node == s.Definition().Decompose(first).Node) {
			t.Fatalf("ID %d is of node %d", i, node)
		}
	}
	_, err = s.Next(ended(t))
	is(t, "next", err, context.Canceled)
}

// TestContendedCellsMove: where two take from one stripe at a time, one goes elsewhere.
func TestContendedCellsMove(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor: no two goroutines take at a time")
	}
	s := newStriped(t, 3)
	for i := range s.cells {
		s.cells[i].move(0)
	}
	g := s.stripes[0].now.Load().gen // has IDs for as long as the test likes
	g.limit.Store(math.MaxInt64)
	g.perMilli.Store(math.MaxInt64)
	g.deadline.Store(math.MaxInt64)
	var moved atomic.Bool
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for at := s.cell(); at.stripe() == 0 && !moved.Load(); {
				if _, err := s.Next(t.Context()); err != nil {
					t.Error(err)
				}
			}
			moved.Store(true)
		})
	}
	all.Wait()
}

func TestStripedNextDoesNotAllocate(t *testing.T) {
	clock := &runningClock{}
	clock.now.Store(2000)
	s := stripedOn(t, 4, clock).forever()
	_ = s.handles[2].DetachLogicalNode(t.Context())
	if n := testing.AllocsPerRun(1000, func() { _, _ = s.Next(t.Context()) }); n != 0 {
		t.Errorf("%v allocations an ID", n)
	}
	ids := make([]ID, 100)
	if n := testing.AllocsPerRun(100, func() { _, _ = s.Fill(t.Context(), ids) }); n != 0 {
		t.Errorf("%v allocations a Fill", n)
	}
}

// TestStripedStateAndNodes: what can be seen of a Striped, and how it ends.
func TestStripedStateAndNodes(t *testing.T) {
	s := newStriped(t, 3)
	if got := s.LogicalNodes(); !slices.Equal(got, []NodeID{8, 9, 10}) || s.Name() != "orders" ||
		s.Definition() != define(t, 8192) {
		t.Errorf("nodes %v of %v", got, s.Definition())
	}
	_ = s.handles[1].DetachLogicalNode(t.Context())
	s.handles[2].control.Destroy()
	if got := s.LogicalNodes(); !slices.Equal(got, []NodeID{10}) || s.State() != Attached {
		t.Errorf("nodes %v, %v", got, s.State())
	}
	_ = s.handles[0].DetachLogicalNode(t.Context())
	if got := s.State(); got != Destroyed || len(s.LogicalNodes()) != 0 || !s.Stats().GrantUntil.IsZero() {
		t.Errorf("%v, %+v", got, s.Stats())
	}
	s = newStriped(t, 2)
	for _, h := range s.handles {
		_ = h.DetachLogicalNode(t.Context())
	}
	if got := s.State(); got != Detached {
		t.Error(got)
	}
	is(t, "leave", s.Leave(t.Context()), ErrUnavailable)
	if s.left != 1 {
		t.Errorf("left %d times", s.left)
	}
}

// TestStripedDestroy ends every stripe, or none.
func TestStripedDestroy(t *testing.T) {
	s := newStriped(t, 2)
	s.handles[0].backend.destroy = func() error { return ErrUnavailable }
	is(t, "destroy", s.Destroy(t.Context()), ErrUnavailable)
	if s.State() != Attached {
		t.Error(s.State())
	}
	s.handles[0].backend.destroy = nil
	is(t, "destroy", s.Destroy(t.Context()), nil)
	_, err := s.Next(t.Context())
	is(t, "next", err, ErrDestroyed)
	if s.State() != Destroyed || len(s.LogicalNodes()) != 0 {
		t.Errorf("%v with nodes %v", s.State(), s.LogicalNodes())
	}
	is(t, "destroy", s.Destroy(t.Context()), nil)
}

func TestNewStripedRejectsMixedHandles(t *testing.T) {
	clock := newManualClock(2000)
	one, other := stripe(t, 1, clock).Sequencer, stripe(t, 2, clock).Sequencer
	later, _ := newSequencer(define(t, 8192), bridge.Life{2}, &fakeBackend{}, clock)
	few, _ := newSequencer(define(t, 128), bridge.Life{1}, &fakeBackend{}, clock)
	for what, stripes := range map[string][]*Sequencer{
		"nothing": {}, "another life": {one, later}, "another definition": {one, few}, "one twice": {one, other, one},
		"too many": slices.Repeat([]*Sequencer{one}, maxStripes+1),
	} {
		if s, err := newStripedOver(stripes, nil); s != nil || !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n, valid := range map[int]bool{-1: false, 0: false, 1: true, maxStripes: true, maxStripes + 1: false} {
		if err := define(t, 128).checkStripes(n); (err == nil) != valid || err != nil && !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%d stripes: %v", n, err)
		}
	}
}
