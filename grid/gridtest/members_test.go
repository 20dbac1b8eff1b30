package gridtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// statusOf asks a member over HTTP for the whole grid's status.
func statusOf(t *testing.T, g *gridtest.Grid, member string) (s grid.Status) {
	t.Helper()
	transport, scheme := httpFrom(g, "operator")
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+member+":7948"+wire.PathStatus, nil)
	ok(t, "request", err)
	res, err := transport.RoundTrip(req)
	ok(t, "status", err)
	defer func() { _ = res.Body.Close() }()
	ok(t, "status", json.NewDecoder(res.Body).Decode(&s))
	return s
}

// facts is the part of a status that a test checks.
type facts struct {
	members, voters, alive, leaders int
	attached                        string // "name:attached nodes" of each sequencer
}

func factsOf(s grid.Status) facts {
	f := facts{members: len(s.Members)}
	for _, m := range s.Members {
		f.voters += count(m.Voter)
		f.alive += count(m.Alive)
		f.leaders += count(m.Leader)
	}
	for _, q := range s.Sequencers {
		f.attached += fmt.Sprintf("%s:%v ", q.Name, q.AttachedNodes)
	}
	return f
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// checkStatus waits until every member's status shows the facts, and checks what
// always holds: each partition is owned by a member, and the counts agree.
func checkStatus(t *testing.T, g *gridtest.Grid, when string, want facts) grid.Status {
	t.Helper()
	var s grid.Status
	for _, name := range g.Running() {
		var got facts
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if s = statusOf(t, g, name); factsOf(s) == want && len(s.Unreachable) == 0 {
				break
			}
		}
		if got = factsOf(s); got != want || len(s.Unreachable) > 0 {
			t.Fatalf("%s: status at %s is %+v (unreachable: %v), want %+v", when, name, got, s.Unreachable, want)
		}
		owned := map[string]int{}
		for _, p := range s.Partitions {
			owned[p.Owner]++
		}
		for _, m := range s.Members {
			if owned[m.Incarnation] != m.Partitions {
				t.Errorf("%s: %s owns %d partitions, status says %d", when, m.Incarnation, owned[m.Incarnation], m.Partitions)
			}
			delete(owned, m.Incarnation)
		}
		if len(owned) > 0 {
			t.Errorf("%s: partitions of owners that are no members: %v", when, owned)
		}
	}
	return s
}

// joinersExpectNothing makes all members beyond the first n join without forming.
func joinersExpectNothing(n int) func(name string, c *grid.Config) {
	return func(name string, c *grid.Config) {
		if name > fmt.Sprint("m", n) {
			c.Expect = 0
		}
	}
}

// TestJoinersFormNone: members that only join keep no other from forming the grid, whichever of
// them has the lowest identity.
func TestJoinersFormNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.New(t, gridtest.Config{Members: 9, Change: func(name string, c *grid.Config) {
			c.Expect = 0
			if name == "m1" {
				c.Expect = 5 // so it sees joiners before it forms the grid
			}
		}})
		var all []string
		for i := range 9 {
			all = append(all, fmt.Sprint("m", i+1))
		}
		g.StartMembers(all...)
		create(t, g.Member("m9"), "orders", 0)
	})
}

func TestStatusTellsTheTruth(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: joinersExpectNothing(3)})
		ids := newChecker(t)
		c1, c2 := g.Client("c1"), g.Client("c2")
		s1 := create(t, c1, "orders", 0)
		checkStatus(t, g, "formed", facts{3, 3, 3, 1, "orders:[0] "})

		g.StartMembers("m4")
		checkStatus(t, g, "after a join", facts{4, 3, 4, 1, "orders:[0] "})
		if got := g.Member("m4").Status().Members; len(got) != 4 {
			t.Errorf("the joiner sees %d members", len(got))
		}
		create(t, g.Member("m4"), "orders", 0)
		s3 := create(t, c2, "orders", 0)
		checkStatus(t, g, "after attaches", facts{4, 3, 4, 1, "orders:[0 1 2] "})
		ok(t, "detach", s1.DetachLogicalNode(t.Context()))
		checkStatus(t, g, "after a detach", facts{4, 3, 4, 1, "orders:[1 2] "})
		create(t, c1, "users", 0)
		checkStatus(t, g, "after a create", facts{4, 3, 4, 1, "orders:[1 2] users:[0] "})
		ok(t, "destroy", s3.Destroy(t.Context()))
		checkStatus(t, g, "after a destroy", facts{4, 3, 4, 1, "users:[0] "})
		ok(t, "destroy", c2.DestroySequencer(t.Context(), "users"))
		checkStatus(t, g, "after another", facts{4, 3, 4, 1, ""})

		g.Crash("m1")
		checkStatus(t, g, "after a crash", facts{3, 3, 3, 1, ""})
		g.StartMembers("m1")
		checkStatus(t, g, "after its restart", facts{4, 3, 4, 1, ""})
		g.Leave(g.Leader())
		checkStatus(t, g, "after the leader's leave", facts{3, 3, 3, 1, ""})
		// a handle without a logical node is returned as it is, so the destroy has to reach c1 first
		eventually(t, time.Minute, "c1 has received the destroy", func() bool { return s1.State() == sequencer.Destroyed })
		ids.caller("c1").must(create(t, c1, "orders", 0), 10)
	})
}

func TestLeaveHandsPartitionsOver(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5, Durable: true})
		ids := newChecker(t)
		load := ids.load(200 * time.Millisecond)
		handles := map[string]*sequencer.Sequencer{}
		for _, name := range g.Running() {
			name = ownedBy(t, g, name)
			handles[name] = create(t, g.Client("c-"+name), name, 0)
			load.run("c-"+name, handles[name])
		}
		for left := 4; left > 2; left-- {
			time.Sleep(5 * time.Second)
			leaver := g.Running()[left/2]
			began := time.Now()
			g.Leave(leaver)
			took := time.Since(began)
			time.Sleep(14 * time.Second)
			s := g.Member(g.Running()[0]).Status()
			if len(s.Members) != left {
				t.Errorf("after the leave of %s: %d members, want %d", leaver, len(s.Members), left)
			}
			t.Logf("%s left in %v, its partitions have new owners; longest call of Next %v", leaver, took, ids.wait("c"))
		}
		load.stop()
		for name, s := range handles {
			if longest := s.Stats().LongestGrantWait; longest > longestWait {
				t.Errorf("%s: a holder waited for %v", name, longest)
			}
		}
	})
}

func TestTwoMembersHaveOneVoter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 2, Durable: true})
		newChecker(t).caller("c1").must(create(t, g.Client("c1"), "orders", 0), 10)
		checkStatus(t, g, "two members", facts{2, 1, 2, 1, "orders:[0] "})
	})
}

func TestOtherSettingsAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changes := map[string]func(c *grid.Config){
			"name":       func(c *grid.Config) { c.Name = "another" },
			"partitions": func(c *grid.Config) { c.Partitions = 17 },
			"backups":    func(c *grid.Config) { c.Backups = 2 },
			"window":     func(c *grid.Config) { c.Window = 20 * time.Second },
		}
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(name string, c *grid.Config) {
			if change := changes[name]; change != nil {
				c.Expect = 0
				change(c)
			}
		}})
		ids := newChecker(t)
		load := ids.load(200 * time.Millisecond)
		load.run("c1", create(t, g.Client("c1"), "orders", 0))
		for setting := range changes {
			began := time.Now()
			err := g.TryMember(within(t, 20*time.Second), setting)
			kind := sequencer.ErrInvalidConfig
			if *secure && setting == "name" {
				kind = context.DeadlineExceeded // anyone can greet: a name without proof ends no member
			}
			want(t, setting, err, kind)
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), setting) {
				t.Errorf("%v: want the setting %q in it", err, setting)
			}
			t.Logf("%s refused after %v: %v", setting, time.Since(began), err)
		}
		checkStatus(t, g, "after the refusals", facts{3, 3, 3, 1, "orders:[0] "})
		load.stop()
		if longest := ids.wait(""); longest > 100*time.Millisecond {
			t.Errorf("a refused member kept a holder waiting for %v", longest)
		}
	})
}

func TestStartWithoutOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Change: func(_ string, c *grid.Config) {
			c.Join = []string{"m1:7946", "m2:7946", "m3:7946"}
			c.Expect = 3
		}})
		err := g.TryMember(within(t, 5*time.Second), "m1")
		want(t, "start alone", err, context.DeadlineExceeded, sequencer.ErrUnavailable)
		if err == nil || !strings.Contains(err.Error(), "no other member was seen") {
			t.Errorf("%v: want an error that no member was seen", err)
		}
		var wg sync.WaitGroup
		for _, name := range []string{"m1", "m2"} {
			other := g.Network.Host(map[string]string{"m1": "m2", "m2": "m1"}[name]).IP().String()
			wg.Go(func() {
				err := g.TryMember(within(t, 10*time.Second), name)
				want(t, "start of two of three", err, context.DeadlineExceeded, sequencer.ErrUnavailable)
				if err == nil || !strings.Contains(err.Error(), other) {
					t.Errorf("%v: want %s in it, which was seen", err, other)
				}
			})
		}
		wg.Wait()
		g.StartMembers("m1", "m2", "m3")
		checkStatus(t, g, "started", facts{3, 3, 3, 1, ""})
	})
}

func TestVolatileMemberRestarts(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) { c.FirstLife = true }})
		ids := newChecker(t)
		load := ids.load(200 * time.Millisecond)
		load.run("c1", create(t, g.Client("c1"), "orders", 0))
		before := g.Member("m1").Status()
		for _, name := range []string{"m1", "m2", "m3"} {
			old := g.Member(name).Status().Answering
			g.Crash(name)
			g.StartMembers(name)
			s := checkStatus(t, g, "after the restart of "+name, facts{3, 3, 3, 1, "orders:[0] "})
			if s.Grid != before.Grid {
				t.Errorf("grid %v after the restart, want %v", s.Grid, before.Grid)
			}
			if slices.ContainsFunc(s.Members, func(m grid.MemberInfo) bool { return m.Incarnation == old }) {
				t.Error("the crashed incarnation is still a member")
			}
			time.Sleep(10 * time.Second)
		}
		load.stop()
		t.Logf("longest call of Next %v", ids.wait("c1"))
	})
}

func TestDurableGridSurvivesTotalCrash(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	const day = 24 * time.Hour
	for what, steps := range map[string][3]time.Duration{
		"a day ahead": {day, day, day}, "a day behind": {-day, -day, -day}, "apart": {day, 0, -day},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
				ids := newChecker(t)
				s := create(t, g.Client("c1"), "orders", 0)
				old, fresh := ids.caller("c1"), ids.caller("c2")
				before := g.Member("m1").Status().Grid
				for life := range 2 {
					for range 30 {
						old.must(s, 20)
						time.Sleep(100 * time.Millisecond)
					}
					g.Crash(g.Running()...)
					time.Sleep(time.Second)
					for i, step := range steps {
						g.StepClock(fmt.Sprint("m", i+1), step)
					}
					began := time.Now()
					g.StartMembers("m1", "m2", "m3")
					served := time.Since(began)
					if got := g.Member("m1").Status().Grid; got != before {
						t.Fatalf("grid %v after the restart, want %v", got, before)
					}
					// A name of its own: a create of the forgotten one would end the old
					// holder's life of it.
					fresh.last = 0
					fresh.must(create(t, g.Client(fmt.Sprint("c2-", life)), fmt.Sprint("users-", life), 0), 1)
					took := time.Since(began)
					ids.wait("")
					time.Sleep(2 * time.Second)
					// c1 may use its earlier grants immediately; only then it waits.
					for time.Since(began) < 25*time.Second {
						old.must(s, 1)
						time.Sleep(100 * time.Millisecond)
					}
					t.Logf("served after %v, first ID after %v", served, took)
					if longest := ids.wait("c1"); max(took, longest) > 20*time.Second {
						t.Errorf("the first ID took %v, the old holder waited for %v", took, longest)
					}
				}
			})
		})
	}
}
