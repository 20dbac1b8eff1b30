package gridtest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// closable is a member or a client.
type closable interface {
	creator
	Close() error
}

// The bubble ends with a panic if a goroutine is left when all is closed.
func TestClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		for what, c := range map[string]closable{"client": g.Client("c1"), "member": g.Member("m2")} {
			attached, detached := create(t, c, "orders", 0), create(t, c, "users", 0)
			ids.caller(what).must(attached, 10)
			ok(t, "detach", detached.DetachLogicalNode(t.Context()))
			ok(t, "close", c.Close())
			ok(t, "close again", c.Close())
			for _, s := range []*sequencer.Sequencer{attached, detached} {
				checkClosed(t, what, s)
			}
			_, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
			want(t, what+": create", err, sequencer.ErrClosed)
			_, err = c.CreateSequencer(t.Context(), "new", sequencer.Config{})
			want(t, what+": create a new name", err, sequencer.ErrClosed)
			_, err = c.OpenSequencer(t.Context(), "orders")
			want(t, what+": open", err, sequencer.ErrClosed)
			want(t, what+": destroy", c.DestroySequencer(t.Context(), "orders"), sequencer.ErrClosed)
		}
		want(t, "leave after close", g.Member("m2").Leave(t.Context()), sequencer.ErrClosed)
		if g.Member("m2").Ready() {
			t.Error("a closed member says that it serves")
		}
	})
}

// checkClosed checks every method of a handle whose member or client is closed.
func checkClosed(t *testing.T, what string, s *sequencer.Sequencer) {
	t.Helper()
	_, err := s.Next(t.Context())
	want(t, what+": Next", err, sequencer.ErrClosed)
	_, err = s.Fill(t.Context(), make([]sequencer.ID, 10))
	want(t, what+": Fill", err, sequencer.ErrClosed)
	want(t, what+": attach", s.AttachLogicalNode(t.Context()), sequencer.ErrClosed)
	want(t, what+": detach", s.DetachLogicalNode(t.Context()), sequencer.ErrClosed)
	want(t, what+": destroy", s.Destroy(t.Context()), sequencer.ErrClosed)
	if _, held := s.LogicalNode(); held || s.State() != sequencer.Detached {
		t.Errorf("%s: %v, holds a logical node: %v; want Detached", what, s.State(), held)
	}
}

func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		c := g.Client("c1")
		s := create(t, c, "orders", 0)
		for _, name := range g.Running() {
			g.Network.Cut("c1", name)
		}
		time.Sleep(20 * time.Second)
		waits := make(chan error, 3)
		go func() { _, err := s.Next(context.Background()); waits <- err }()
		go func() { _, err := c.CreateSequencer(context.Background(), "users", sequencer.Config{}); waits <- err }()
		go func() { waits <- s.Destroy(context.Background()) }()
		time.Sleep(5 * time.Second)
		select {
		case err := <-waits:
			t.Fatal("a call of a client that reaches no member ended:", err)
		default:
		}
		began := time.Now()
		ok(t, "close", c.Close())
		for range 3 {
			want(t, "a call that waited", <-waits, sequencer.ErrClosed)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("close took %v", took)
		}
		g.Network.HealAll()
	})
}

func TestLeaveGivesNodesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		handles, clients := fill(t, g, "few", 128)
		ids.caller("leaver").must(handles[50], 10)
		node, _ := handles[50].LogicalNode()
		ok(t, "leave", clients[50-3].Leave(t.Context()))
		checkClosed(t, "after leave", handles[50])
		late := create(t, g.Client("late"), "few", 128)
		if got, _ := late.LogicalNode(); got != node {
			t.Errorf("got logical node %d, want %d, which was given back", got, node)
		}
		ids.caller("late").must(late, 10)
	})
}

// TestCloseBesideASilentServer: a leader that closes does not wait for Raft's calls to a server that does not answer.
func TestCloseBesideASilentServer(t *testing.T) {
	t.Parallel()
	for _, silent := range []time.Duration{300 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.Start(t, gridtest.Config{Members: 3})
			leads := g.Leader()
			follower := "m1"
			if leads == follower {
				follower = "m2"
			}
			g.Network.Cut(leads, follower)
			time.Sleep(silent)
			began := time.Now()
			ok(t, "close", g.Member(leads).Close())
			if took := time.Since(began); took > time.Second {
				t.Errorf("after %v of silence Close took %v", silent, took)
			}
		})
	}
}
