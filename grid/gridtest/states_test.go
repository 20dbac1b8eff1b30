package gridtest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestAttachAndDetach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		for _, from := range []creator{g.Client("web"), g.Member("m2")} {
			s := create(t, from, "orders", 0)
			if s.State() != sequencer.Attached {
				t.Fatalf("created: %v, want Attached", s.State())
			}
			caller := ids.caller("attached")
			for range 3 {
				caller.must(s, 10)
				want(t, "attach when Attached", s.AttachLogicalNode(t.Context()), sequencer.ErrAttached)
				ok(t, "detach", s.DetachLogicalNode(t.Context()))
				if _, held := s.LogicalNode(); held || s.State() != sequencer.Detached {
					t.Fatalf("detached: %v, holds a logical node: %v", s.State(), held)
				}
				_, err := caller.next(t.Context(), s)
				want(t, "Next when Detached", err, sequencer.ErrDetached)
				want(t, "detach when Detached", s.DetachLogicalNode(t.Context()), sequencer.ErrDetached)
				if again := create(t, from, "orders", 0); again != s || again.State() != sequencer.Detached {
					t.Fatalf("create of a name that has a Detached handle: same %v, %v", again == s, again.State())
				}
				ok(t, "attach", s.AttachLogicalNode(t.Context()))
			}
			caller.must(s, 10)
		}
	})
}

// everywhere returns handles on one name: attached ones on two clients and a
// member, opened ones, which are Detached, on another client and member, and one
// that was detached.
func everywhere(t *testing.T, g *gridtest.Grid, name string) (handles []*sequencer.Sequencer, from []creator) {
	from = []creator{g.Client("c1"), g.Client("c2"), g.Member("m1"), g.Client("c3"), g.Member("m2"), g.Client("c4"),
		g.Member("m3")}
	for i, f := range from {
		if i == 3 || i == 4 {
			s, err := f.OpenSequencer(t.Context(), name)
			ok(t, "open", err)
			handles = append(handles, s)
			continue
		}
		handles = append(handles, create(t, f, name, 0))
	}
	ok(t, "detach", handles[5].DetachLogicalNode(t.Context()))
	return handles, from
}

func TestDestroyReachesEveryHandle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		for _, by := range []int{0, 3, 2, 6} { // attached and not, client and member
			old, from := everywhere(t, g, "orders")
			if got := states(old); got != "Attached Attached Attached Detached Detached Detached Attached " {
				t.Fatal("before the destroy:", got)
			}
			callers := make([]*caller, len(old))
			for i, s := range old {
				if callers[i] = ids.caller("a life"); s.State() == sequencer.Attached {
					callers[i].must(s, 100)
				}
			}
			began := time.Now()
			ok(t, "destroy", old[by].Destroy(t.Context()))
			eventually(t, time.Second, "every handle is Destroyed", func() bool {
				return states(old) == strings.Repeat("Destroyed ", len(old))
			})
			if took := time.Since(began); took > time.Second {
				t.Errorf("every handle was Destroyed only after %v", took)
			}
			for i, s := range old {
				_, err := callers[i].next(t.Context(), s)
				want(t, "Next when Destroyed", err, sequencer.ErrDestroyed)
			}
			again(t, ids, callers, old, from)
			ok(t, "destroy by name", from[1].DestroySequencer(t.Context(), "orders"))
			eventually(t, time.Second, "the second life has ended", func() bool {
				_, err := from[1].OpenSequencer(t.Context(), "orders")
				return err != nil
			})
			time.Sleep(time.Second)
		}
	})
}

// again creates a destroyed name again everywhere, and shows that the old handles
// cannot harm the new life.
func again(t *testing.T, ids *checker, callers []*caller, old []*sequencer.Sequencer, from []creator) {
	began := time.Now()
	fresh := make([]*sequencer.Sequencer, len(from))
	for i, f := range from {
		fresh[i] = create(t, f, "orders", 0)
		if fresh[i] == old[i] {
			t.Fatal("create after a destroy gave the old handle")
		}
		callers[i].must(fresh[i], 1)
		if took := time.Since(began); i == 0 && took > 2*time.Second {
			t.Errorf("the new life's first ID took %v", took)
		}
	}
	for i, s := range old {
		want(t, "attach when Destroyed", s.AttachLogicalNode(t.Context()), sequencer.ErrDestroyed)
		want(t, "detach when Destroyed", s.DetachLogicalNode(t.Context()), sequencer.ErrDestroyed)
		ok(t, "destroy again", s.Destroy(t.Context()))
		s.DetachWhenIdle(time.Second)
		_, err := callers[i].next(t.Context(), s)
		want(t, "Next of an old handle", err, sequencer.ErrDestroyed)
	}
	time.Sleep(5 * time.Second)
	for i, s := range fresh {
		if s.State() != sequencer.Attached || old[i].State() != sequencer.Destroyed {
			t.Fatalf("the new life's handle is %v, the old life's is %v", s.State(), old[i].State())
		}
		callers[i].must(s, 10)
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		c1, c2 := g.Client("c1"), g.Client("c2")
		_, err := c1.OpenSequencer(t.Context(), "missing")
		want(t, "open an unknown name at a client", err, sequencer.ErrNotFound)
		_, err = g.Member("m1").OpenSequencer(t.Context(), "missing")
		want(t, "open an unknown name at a member", err, sequencer.ErrNotFound)
		want(t, "destroy an unknown name", c1.DestroySequencer(t.Context(), "missing"), sequencer.ErrNotFound)

		s := create(t, c1, "orders", 8000)
		for _, nodes := range []int{0, 8192, 4097} {
			if create(t, c1, "orders", nodes) != s {
				t.Errorf("%d nodes gave another handle", nodes)
			}
			create(t, c2, "orders", nodes)
			create(t, g.Member("m3"), "orders", nodes)
		}
		if opened, err := c1.OpenSequencer(t.Context(), "orders"); err != nil || opened != s {
			t.Errorf("open gave %v and another handle: %v", err, opened != s)
		}
		for _, from := range []creator{c1, c2, g.Client("c3"), g.Member("m1"), g.Member("m2"), g.Member("m3")} {
			_, err := from.CreateSequencer(t.Context(), "orders", sequencer.Config{Nodes: 512})
			want(t, "create with another definition", err, sequencer.ErrConflict)
			if err == nil || !strings.Contains(err.Error(), "8192") || !strings.Contains(err.Error(), "512") {
				t.Errorf("%v: want both definitions in it", err)
			}
		}
		_, err = c2.CreateSequencer(t.Context(), "few", sequencer.Config{Nodes: 127})
		want(t, "127 nodes", err, sequencer.ErrInvalidConfig)
		newChecker(t).caller("c1").must(s, 100)
	})
}
