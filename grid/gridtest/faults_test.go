package gridtest_test

import (
	"context"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/long"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// longestWait is how long a loss may keep a holder waiting.
const longestWait = 13 * time.Second

// scene is a grid of three under load: clients and members that take IDs of
// several names.
type scene struct {
	t     *testing.T
	g     *gridtest.Grid
	ids   *checker
	load  *load
	names []string
	// handles are those of the clients, by name.
	handles map[string][]*sequencer.Sequencer
}

// newScene starts a scene of three members and as many clients.
func newScene(t *testing.T, names ...string) *scene {
	g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
	ids := newChecker(t)
	s := &scene{t: t, g: g, ids: ids, load: ids.load(300 * time.Millisecond), names: names,
		handles: map[string][]*sequencer.Sequencer{}}
	for i := range 3 {
		c := g.Client(fmt.Sprintf("c%d", i+1))
		for _, name := range names {
			handle := create(t, c, name, 0)
			s.handles[name] = append(s.handles[name], handle)
			s.load.run(fmt.Sprintf("c%d", i+1), handle)
		}
	}
	for _, member := range g.Running() {
		s.runMember(member)
	}
	return s
}

// runMember has a member take IDs until it is closed.
func (s *scene) runMember(member string) {
	for _, name := range s.names {
		s.load.run(member, create(s.t, s.g.Member(member), name, 0), sequencer.ErrClosed)
	}
}

// run lets bubble time pass and returns a client's longest call of Next that
// ended in it.
func (s *scene) run(d time.Duration) time.Duration {
	time.Sleep(d)
	return s.ids.wait("c")
}

// waits returns the longest wait for a grant of the clients' handles.
func (s *scene) waits() (longest time.Duration) {
	for _, handles := range s.handles {
		for _, h := range handles {
			longest = max(longest, h.Stats().LongestGrantWait)
		}
	}
	return longest
}

// names of which each member of three owns some, most likely.
var someNames = []string{"orders", "invoices", "users"}

func TestCrashes(t *testing.T) {
	t.Parallel()
	leader := func(g *gridtest.Grid) string { return g.Leader() }
	owner := func(g *gridtest.Grid) string { return g.OwnerOf("orders") }
	for what, victim := range map[string]func(g *gridtest.Grid) string{"leader": leader, "owner": owner} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, someNames...)
				if calm := s.run(5 * time.Second); calm > 100*time.Millisecond {
					t.Errorf("a call of Next took %v before any fault", calm)
				}
				name := victim(s.g)
				t.Logf("crash of %s; %s owns orders, %s leads", name, s.g.OwnerOf("orders"), s.g.Leader())
				s.g.Crash(name)
				longest := s.run(20 * time.Second)
				s.g.StartMembers(name)
				s.runMember(name)
				again := s.run(10 * time.Second)
				s.load.stop()
				t.Logf("longest call of Next: %v after the crash, %v after the restart; longest wait for a grant %v; %d IDs",
					longest, again, s.waits(), s.ids.count())
				if max(longest, again, s.waits()) > longestWait {
					t.Errorf("a wait was longer than %v", longestWait)
				}
			})
		})
	}
}

// ownedBy returns a name whose partition a member owns.
func ownedBy(t *testing.T, g *gridtest.Grid, member string) string {
	for i := range 1000 {
		if name := fmt.Sprint("name-", i); g.OwnerOf(name) == member {
			return name
		}
	}
	t.Fatalf("%s owns no partition", member)
	return ""
}

// waits counts the waits for a grant of handles.
func waits(handles []*sequencer.Sequencer) (n uint64) {
	for _, h := range handles {
		n += h.Stats().GrantWaits
	}
	return n
}

func TestCrashOfOwnerAndLeaderInOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		leader := g.Leader()
		name := ownedBy(t, g, leader)
		load := ids.load(50 * time.Millisecond)
		var handles []*sequencer.Sequencer
		for i := range 3 {
			handles = append(handles, create(t, g.Client(fmt.Sprint("c", i)), name, 0))
			load.run(fmt.Sprint("c", i), handles[i])
		}
		time.Sleep(5 * time.Second)
		g.Crash(leader)
		time.Sleep(30 * time.Second)
		load.stop()
		longest := ids.wait("c")
		t.Logf("longest call of Next %v; %+v", longest, handles[0].Stats())
		if longest > 0 || waits(handles) > 0 {
			t.Errorf("holders waited %v, %d times", longest, waits(handles))
		}
	})
}

// cutOff cuts a host from all others of a scene.
func (s *scene) cutOff(host string, cut func(a, b string)) {
	for _, other := range []string{"m1", "m2", "m3", "c1", "c2", "c3"} {
		if other != host {
			cut(host, other)
		}
	}
}

// whole waits until all members see one grid in which all three serve.
func whole(t *testing.T, g *gridtest.Grid, limit time.Duration) time.Duration {
	t.Helper()
	return eventually(t, limit, "all members are one grid again", func() bool {
		leader := ""
		for _, name := range g.Running() {
			st := g.Member(name).Status()
			if !st.Ready || st.Leader == "" || len(st.Members) != len(g.Running()) || (leader != "" && st.Leader != leader) {
				return false
			}
			for _, m := range st.Members {
				if !m.Alive {
					return false
				}
			}
			leader = st.Leader
		}
		return true
	})
}

func TestMemberCutOff(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, what := range []string{"leader", "another"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, someNames...)
				s.run(5 * time.Second)
				victim := s.g.Leader()
				if what != "leader" {
					victim = map[string]string{"m1": "m2", "m2": "m3", "m3": "m1"}[victim]
				}
				s.cutOff(victim, s.g.Network.Cut)
				time.Sleep(60 * time.Second)
				s.g.Network.HealAll()
				took := whole(t, s.g, 30*time.Second)
				s.run(20 * time.Second)
				s.load.stop()
				t.Logf("one grid %v after the heal; the clients' longest wait for a grant %v; %d IDs", took, s.waits(),
					s.ids.count())
				if s.waits() > longestWait {
					t.Errorf("a client waited longer than %v", longestWait)
				}
			})
		})
	}
}

func TestOneWayCuts(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "orders", "users")
		for i, cut := range []func(){
			func() { s.cutOff("m1", s.g.Network.CutOneWay) },
			func() { s.cutOff("m2", func(a, b string) { s.g.Network.CutOneWay(b, a) }) },
			func() { // no pair has both directions: as a lost majority
				s.g.Network.CutOneWay("m1", "m2")
				s.g.Network.CutOneWay("m2", "m3")
				s.g.Network.CutOneWay("m3", "m1")
			},
		} {
			cut()
			time.Sleep(25 * time.Second)
			s.g.Network.HealAll()
			took := whole(t, s.g, 30*time.Second)
			longest := s.run(16 * time.Second)
			t.Logf("one grid %v after the heal; a client's longest call of Next %v", took, longest)
			if i < 2 && longest > longestWait {
				t.Errorf("cut %d kept a client waiting longer than %v", i, longestWait)
			}
		}
		s.load.stop()
	})
}

func TestPausedOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, someNames...)
		s.run(5 * time.Second)
		owner := s.g.OwnerOf("orders")
		s.g.Network.Pause(owner)
		time.Sleep(30 * time.Second)
		s.g.Network.Resume(owner)
		took := whole(t, s.g, 30*time.Second)
		s.run(20 * time.Second)
		s.load.stop()
		t.Logf("a member again %v after the resume; the clients' longest wait for a grant %v", took, s.waits())
		if s.waits() > longestWait {
			t.Errorf("a client waited longer than %v", longestWait)
		}
	})
}

func TestMajorityLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		s := create(t, g.Client("c1"), "orders", 0)
		caller := ids.caller("c1")
		for range 5 {
			caller.must(s, 1)
			time.Sleep(time.Second)
		}
		for _, pair := range [][2]string{{"m1", "m2"}, {"m2", "m3"}, {"m1", "m3"}} {
			g.Network.Cut(pair[0], pair[1])
		}
		began := time.Now()
		var err error
		for err == nil {
			time.Sleep(10 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err = caller.next(ctx, s)
			cancel()
		}
		went := time.Since(began)
		want(t, "Next without a majority", err, sequencer.ErrGrantExpired, context.DeadlineExceeded)
		t.Logf("went on for %v", went)
		if went < 9*time.Second || went > 16*time.Second {
			t.Errorf("went on for %v, want 9 s to about the window", went)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, cancel)
		_, err = caller.next(ctx, s)
		want(t, "Next that is cancelled", err, sequencer.ErrGrantExpired, context.Canceled)
		time.AfterFunc(10*time.Second, g.Network.HealAll)
		caller.must(s, 1)
		healed := time.Since(began)
		t.Logf("%v after the cut, the next ID", healed)
		whole(t, g, 30*time.Second)
		for range 10 {
			caller.must(s, 10)
			time.Sleep(time.Second)
		}
	})
}

// aheadMax is how far timestamps may run ahead of the majority's clocks.
const aheadMax = time.Second

func TestSteppedClocks(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "orders", "users")
		time.Sleep(5 * time.Second)
		probe := s.ids.caller("probe")
		handle := create(t, s.g.Client("probe"), "orders", 0)
		for _, step := range []struct {
			member string
			by     time.Duration
		}{
			{"m1", day}, {"m1", -2 * day}, {"m1", day},
			{"m2", day}, {"m2", -day}, {"m3", -day}, {"m3", day},
			{s.g.Leader(), time.Hour}, {s.g.Leader(), -2 * time.Hour}, {s.g.Leader(), time.Hour},
		} {
			s.g.StepClock(step.member, step.by)
			for range 5 {
				at := handle.Definition().Decompose(probe.must(handle, 1)).Time
				if off := at.Sub(gridtest.Now()); off > aheadMax || off < -10*time.Second {
					t.Errorf("%s stepped by %v: a timestamp is %v off", step.member, step.by, off)
				}
				time.Sleep(time.Second)
			}
		}
		s.load.stop()
		if longest := s.ids.wait("c"); longest > 100*time.Millisecond {
			t.Errorf("one clock that is wrong kept a holder waiting for %v", longest)
		}
	})
}

func TestMajorityOfClocksStepped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		s := create(t, g.Client("c1"), "orders", 0)
		caller := newChecker(t).caller("c1")
		stepAll := func(by time.Duration) {
			for _, name := range g.Running() {
				g.StepClock(name, by)
			}
		}
		ahead := func() time.Duration {
			return s.Definition().Decompose(caller.must(s, 1)).Time.Sub(gridtest.Now())
		}
		pass := func(d time.Duration, check func(off time.Duration) bool, what string) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				if off := ahead(); !check(off) {
					t.Fatalf("%s: a timestamp is %v off", what, off)
				}
			}
		}
		pass(5*time.Second, func(off time.Duration) bool { return off < aheadMax }, "at first")

		stepAll(time.Hour)
		pass(58*time.Second, func(off time.Duration) bool { return off < aheadMax }, "a jump of an hour is held")
		time.Sleep(10 * time.Second)
		pass(4*time.Second, func(off time.Duration) bool { return off > 59*time.Minute && off < time.Hour+aheadMax },
			"an hour later on")

		stepAll(5 * time.Minute)
		time.Sleep(15 * time.Second)
		pass(5*time.Second, func(off time.Duration) bool { return off > 64*time.Minute && off < 65*time.Minute+aheadMax },
			"five minutes are followed immediately")

		stepAll(-65 * time.Minute)
		pass(20*time.Second, func(off time.Duration) bool { return off > 64*time.Minute-10*time.Second },
			"time never steps back")
	})
}

func TestCrashOfTheMajority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true,
			Change: func(_ string, c *grid.Config) { c.Backups = grid.NoBackups }})
		ids := newChecker(t)
		load := ids.load(100 * time.Millisecond)
		load.run("c1", create(t, g.Client("c1"), "orders", 0))
		load.run("c2", create(t, g.Client("c2"), "users", 0))
		time.Sleep(5 * time.Second)
		g.Crash("m1", "m2")
		time.Sleep(20 * time.Second)
		g.StartMembers("m1", "m2")
		t.Logf("one grid after %v", whole(t, g, 20*time.Second))
		time.Sleep(30 * time.Second)
		load.stop()
		t.Logf("longest call of Next %v; %d IDs", ids.wait("c"), ids.count())
	})
}
