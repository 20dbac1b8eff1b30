package gridtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestLostNodeIsTold: a client is silent for longer than its session, and all logical nodes
// go to others meanwhile. Its handle says so, and has a node again soon after one is free.
func TestLostNodeIsTold(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		lost := create(t, g.Client("lost"), "few", 128)
		caller := ids.caller("lost")
		caller.must(lost, 10)
		g.Network.Pause("lost")
		time.Sleep(20 * time.Second)
		others, _ := fill(t, g, "few", 128)
		for i, s := range others {
			if s.State() != sequencer.Attached {
				t.Fatalf("holder %d is %v", i, s.State())
			}
		}
		g.Network.Resume("lost")
		time.Sleep(10 * time.Second)

		if node, held := lost.LogicalNode(); held || lost.State() != sequencer.Detached || !lost.Stats().GrantUntil.IsZero() {
			t.Errorf("a handle without a logical node is %v with node %d, %v", lost.State(), node, lost.Stats().GrantUntil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err := caller.next(ctx, lost)
		want(t, "Next without a logical node", err, sequencer.ErrNoFreeNode)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sequencer.ErrGrantExpired) ||
			time.Since(began) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}

		waiting := make(chan error, 1)
		go func() {
			_, err := caller.next(t.Context(), lost)
			waiting <- err
		}()
		ok(t, "detach", others[5].DetachLogicalNode(t.Context()))
		began = time.Now()
		ok(t, "Next that waits for a logical node", <-waiting)
		if took := time.Since(began); took > 4*time.Second || lost.State() != sequencer.Attached {
			t.Errorf("attached again %v after a node was free, and it is %v", took, lost.State())
		}
		caller.must(lost, 10)
	})
}

// TestLostNodeWithAnotherFree: a client that is silent for longer than its session, and
// loses its node, attaches to another one by itself.
func TestLostNodeWithAnotherFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		lost := create(t, g.Client("lost"), "few", 128)
		ids.caller("lost").must(lost, 10)
		before, _ := lost.LogicalNode()
		g.Network.Pause("lost")
		time.Sleep(20 * time.Second)
		others, _ := fill(t, g, "few", 128)
		for i, s := range others {
			if node, _ := s.LogicalNode(); node != before && i > 100 {
				ok(t, "detach", s.DetachLogicalNode(t.Context()))
			}
		}
		g.Network.Resume("lost")
		ids.caller("lost").must(lost, 10)
		if node, held := lost.LogicalNode(); !held || node == before || lost.State() != sequencer.Attached {
			t.Errorf("it is %v with node %d after %d", lost.State(), node, before)
		}
	})
}
