package gridtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// fill has every logical node of a name attached, one each by n clients and by
// the members, and returns the handles and clients.
func fill(t *testing.T, g *gridtest.Grid, name string, nodes int) ([]*sequencer.Sequencer, []*client.Client) {
	var from []creator
	var clients []*client.Client
	for _, member := range g.Running() {
		from = append(from, g.Member(member))
	}
	for i := len(from); i < nodes; i++ {
		c := g.Client(fmt.Sprintf("c%d", i))
		clients, from = append(clients, c), append(from, c)
	}
	handles := make([]*sequencer.Sequencer, nodes)
	errs := make([]error, nodes)
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() {
			handles[i], errs[i] = from[i].CreateSequencer(t.Context(), name, sequencer.Config{Nodes: nodes})
		})
	}
	wg.Wait()
	ok(t, "fill", errors.Join(errs...))
	return handles, clients
}

func TestEveryNodeIsUsable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		handles, _ := fill(t, g, "few", 128)
		held := map[sequencer.NodeID]bool{}
		for i, s := range handles {
			n, _ := s.LogicalNode()
			held[n] = true
			ids.caller(fmt.Sprint("holder ", i)).must(s, 5)
		}
		if len(held) != 128 {
			t.Fatalf("%d of 128 logical nodes are attached", len(held))
		}

		late, err := g.Client("late").CreateSequencer(t.Context(), "few", sequencer.Config{Nodes: 128})
		want(t, "the 129th attach", err, sequencer.ErrNoFreeNode)
		if late == nil || late.State() != sequencer.Detached {
			t.Fatal("the handle of a failed attach has to be Detached")
		}
		want(t, "attach once more", late.AttachLogicalNode(t.Context()), sequencer.ErrNoFreeNode)
		_, err = ids.caller("late").next(t.Context(), late)
		want(t, "Next of a handle that got no node", err, sequencer.ErrDetached)

		given, _ := handles[77].LogicalNode()
		leaver := ids.caller("the one that detaches")
		last := leaver.must(handles[77], 10)
		ok(t, "detach", handles[77].DetachLogicalNode(t.Context()))
		began := time.Now()
		ok(t, "attach", late.AttachLogicalNode(t.Context()))
		first := ids.caller("late").must(late, 1)
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("the released node was usable after %v, want immediately", took)
		}
		if got, _ := late.LogicalNode(); got != given {
			t.Errorf("got logical node %d, want %d", got, given)
		}
		checkAfter(t, late, first, late.Definition().Decompose(last).Time)
	})
}

// checkAfter checks that an ID's timestamp is above one.
func checkAfter(t *testing.T, s *sequencer.Sequencer, id sequencer.ID, used time.Time) {
	t.Helper()
	if at := s.Definition().Decompose(id).Time; !at.After(used) {
		t.Errorf("first timestamp %v, want above %v", at, used)
	}
}

func TestManyClientsShareFewNodes(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		create(t, g.Client("first"), "few", 128)
		var wg sync.WaitGroup
		for i := range 200 {
			c := g.Client(fmt.Sprintf("c%d", i))
			s, err := c.OpenSequencer(t.Context(), "few")
			ok(t, "open", err)
			s.DetachWhenIdle(300 * time.Millisecond)
			wg.Go(func() {
				caller := ids.caller(fmt.Sprint("client ", i))
				ctx := within(t, time.Minute)
				for range 2 {
					for range 5 {
						if _, err := caller.next(ctx, s); err != nil {
							t.Errorf("client %d: %v", i, err)
							return
						}
					}
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
		t.Logf("%d IDs, longest wait %v", ids.count(), ids.wait(""))
	})
}

func TestNodeOfACrashedHolder(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		handles, clients := fill(t, g, "few", 128)
		ids.caller("crashed").must(handles[127], 100)
		node, _ := handles[127].LogicalNode()
		granted := handles[127].Stats().GrantUntil
		g.Network.Crash("c127")
		crashed := time.Now()
		_ = clients[len(clients)-1].Close()

		late, err := g.Client("late").OpenSequencer(t.Context(), "few")
		ok(t, "open", err)
		late.DetachWhenIdle(time.Hour) // Next attaches by itself
		first, err := ids.caller("late").next(within(t, time.Minute), late)
		ok(t, "Next", err)
		took := time.Since(crashed)
		t.Logf("the crashed holder's node was given away after %v", took)
		if took < 8*time.Second || took > 20*time.Second {
			t.Errorf("given away after %v, want about the window of 15 s", took)
		}
		if got, _ := late.LogicalNode(); got != node {
			t.Errorf("got logical node %d, want %d", got, node)
		}
		if at := late.Definition().Decompose(first).Time; at.Before(granted) {
			t.Errorf("first timestamp %v, want %v or later: it was granted to the crashed holder", at, granted)
		}
	})
}

func TestNextWaitsForANode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		fill(t, g, "few", 128)
		late, err := g.Client("late").OpenSequencer(t.Context(), "few")
		ok(t, "open", err)
		late.DetachWhenIdle(time.Second)
		_, err = late.Next(within(t, 3025*time.Millisecond))
		want(t, "Next while all nodes are taken", err, sequencer.ErrNoFreeNode, context.DeadlineExceeded)
	})
}
