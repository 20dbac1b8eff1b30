package gridtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/clustertime"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestStartsUnderDifferentClocks: the clocks of a memory-only grid differ all the time
// and are never stepped. However often everything is restarted, and whichever member
// forms the grid, each life begins above everything the ones before issued (S2).
func TestStartsUnderDifferentClocks(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for what, c := range map[string]struct {
		members int
		slow    time.Duration
	}{"two members, 30 s": {2, 30 * time.Second}, "two members, a minute": {2, time.Minute},
		"three members, a minute": {3, time.Minute}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.New(t, gridtest.Config{Members: c.members,
					Change: func(_ string, cfg *grid.Config) { cfg.Window = 3 * time.Second }})
				g.StepClock("m1", -c.slow)
				ids := newChecker(t)
				var used time.Time // latest timestamp of any life
				for life := range 6 {
					g.StartMembers([]string{"m1", "m2", "m3"}[:c.members]...)
					s := create(t, g.Member("m2"), "orders", 0) // no holder lives on to show its grant
					first := timeOf(s, ids.caller("first").must(s, 1))
					if !first.After(used) {
						t.Errorf("life %d begins at %v; used up to %v", life, first, used)
					}
					for range 20 {
						time.Sleep(250 * time.Millisecond)
						used = timeOf(s, ids.caller("on").must(s, 100))
					}
					g.Crash(g.Running()...)
				}
			})
		})
	}
}

// TestIDsWhileMostClocksAreBehind: two of three clocks are stepped back by two hours, so
// cluster time advances without them, and with it the ceiling and the time of all members:
// at the pace of the leader's monotonic clock, however slow the network is.
func TestIDsWhileMostClocksAreBehind(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for _, delay := range []time.Duration{0, 100 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3,
					Change: func(_ string, cfg *grid.Config) { cfg.Window = 4 * time.Second }})
				g.Network.SetDelay(delay)
				ids := newChecker(t)
				load := ids.load(500 * time.Millisecond)
				load.run("client", create(t, g.Client("c"), "orders", 0))
				for _, name := range g.Running() {
					load.run("member "+name, create(t, g.Member(name), "orders", 0))
				}
				for _, name := range []string{"m1", "m2"} {
					g.StepClock(name, -2*time.Hour)
				}
				time.Sleep(10 * time.Second)
				ids.wait("") // the grid begins
				clock, began := g.Member("m3").Status().ClusterTime, time.Now()
				time.Sleep(long.Or(2*time.Minute, 5*time.Minute))
				passed := time.Since(began)
				for _, name := range g.Running() {
					s := g.Member(name).Status()
					if ran := s.ClusterTime.Sub(clock); ran < passed*98/100 || ran > passed*995/1000 {
						t.Errorf("in %v the cluster time of %s went on by %v", passed, name, ran)
					}
					if ahead := s.Ceiling.Sub(s.ClusterTime); ahead < 2*time.Second {
						t.Errorf("the ceiling that %s knows is %v ahead", name, ahead)
					}
				}
				load.stop()
				if longest := ids.wait(""); longest > 2*time.Second {
					t.Errorf("an ID took %v", longest)
				}
			})
		})
	}
}

// TestStartWithAWrongClock: all members would have to wait for a clock far ahead of the
// others, so the grid is not formed before it is set, and the error names its member.
func TestStartWithAWrongClock(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, durable := range []bool{false, true} {
		t.Run(map[bool]string{false: "memory only", true: "durable"}[durable], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.New(t, gridtest.Config{Members: 3, Durable: durable})
				g.StepClock("m2", time.Hour)
				errs := make(chan error, 3)
				for _, name := range []string{"m1", "m2", "m3"} {
					go func() { errs <- g.TryMember(t.Context(), name) }()
				}
				told := false
				for range 3 {
					err := <-errs
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("error %v", err)
					}
					told = told || strings.Contains(err.Error(), g.Network.Host("m2").IP().String()+":7948 shows") &&
						strings.Contains(err.Error(), "1h0m0s ahead of the median")
				}
				if !told {
					t.Error("no member names the clock")
				}
				g.StepClock("m2", -time.Hour)
				g.StartMembers("m1", "m2", "m3")
			})
		})
	}
}

// TestInitAfterAnUnheardJump: two of three voters are cut off, their clocks jump by
// less than the immediate limit, and they grant by that before they die. No survivor
// knows it, and the new grid begins above it nevertheless.
func TestInitAfterAnUnheardJump(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5})
		time.Sleep(5 * time.Second)
		var voters, others []string
		for _, name := range g.Running() {
			s := g.Member(name).Status()
			if slices.ContainsFunc(s.Members, func(i grid.MemberInfo) bool {
				return i.Voter &&
					i.Incarnation == s.Answering
			}) {
				voters = append(voters, name)
			} else {
				others = append(others, name)
			}
		}
		others = append(others, voters[0])
		for _, name := range voters[1:] {
			for _, other := range others {
				g.Network.Cut(name, other)
			}
			g.StepClock(name, 9*time.Minute)
		}
		orders := create(t, g.Member(voters[1]), "orders", 0)
		time.Sleep(20 * time.Second)
		last := g.Member(voters[1]).Status().Ceiling
		if last.Before(gridtest.Now().Add(9 * time.Minute)) {
			t.Fatalf("the voters that were cut off did not follow their clocks: ceiling %v", last)
		}
		ids := newChecker(t)
		ids.caller("cut off").must(orders, 1)
		g.Crash(voters[1:]...)
		time.Sleep(15 * time.Second)
		out, err := initAt(t, g, others[0], time.Time{})
		ok(t, "init", err)
		if first := out.First.Time(); first.Before(last) {
			t.Errorf("the grid begins at %v, and the one before granted up to %v", first, last)
		}
		if out.Jump != clustertime.SpanOf(10*time.Minute) {
			t.Errorf("the answer is %+v: it does not tell of the jump that is allowed for", out)
		}
	})
}

// TestInitUnderDifferentClocks: the survivor that recovers the grid has a slow clock; the
// clock of another one limits the grants of the lost voters.
func TestInitUnderDifferentClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5})
		time.Sleep(5 * time.Second)
		last := loseMajority(t, g, 2)
		asked, other := g.Running()[0], g.Running()[1]
		g.StepClock(asked, -5*time.Minute)
		g.StepClock(other, 5*time.Minute)
		wall := gridtest.Now().Add(5 * time.Minute).Truncate(time.Millisecond)
		out, err := initAt(t, g, asked, last.Add(-time.Hour)) // states that no clock jumped
		ok(t, "init", err)
		if first := out.First.Time(); first.Before(last) || first.Before(wall.Add(20*time.Second)) {
			t.Errorf("the grid begins at %v; last ceiling %v, clock of %s %v", first, last, other, wall)
		}
	})
}

// TestInitWithAWrongClock: nothing is abandoned while a survivor's clock is wrong.
func TestInitWithAWrongClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5})
		time.Sleep(5 * time.Second)
		last := loseMajority(t, g, 2)
		asked, other := g.Running()[0], g.Running()[1]
		old := g.Member(asked).Status().Grid
		g.StepClock(other, time.Hour)
		_, err := initAt(t, g, asked, last)
		if err == nil || !strings.Contains(err.Error(), "ahead of the median") {
			t.Errorf("error %v", err)
		}
		for _, name := range g.Running() {
			if s := g.Member(name).Status(); s.Grid != old {
				t.Errorf("%s has left its grid", name)
			}
		}
		g.StepClock(other, -time.Hour)
		_, err = initAt(t, g, asked, last)
		ok(t, "init with clocks that are right", err)
	})
}

// TestFirstLifeIsStatedOnce: the statement that no earlier life can still issue IDs
// belongs to one forming. It spares the wait, and does not go below an earlier clock.
func TestFirstLifeIsStatedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.New(t, gridtest.Config{Members: 3})
		g.StepClock("m1", -time.Minute)
		started := make(chan error, 2)
		for _, name := range []string{"m1", "m2"} { // the third never comes
			go func() { started <- g.TryMember(t.Context(), name) }()
		}
		time.Sleep(10 * time.Second)
		began := gridtest.Now()
		out, err := initWith(t, g, "m1", wire.InitRequest{Force: true, FirstLife: true})
		ok(t, "init", err)
		for range 2 {
			ok(t, "start", <-started)
		}
		if first := out.First.Time(); first.Before(began) || first.After(began.Add(2*time.Second)) || out.Members != 2 {
			t.Errorf("formed %+v: it begins at %v, told at %v", out, first, began)
		}
		ids := newChecker(t)
		s := create(t, g.Client("c"), "orders", 0)
		if at := timeOf(s, ids.caller("c").must(s, 1)); at.Before(began) {
			t.Errorf("the first ID has time %v, told at %v", at, began)
		}
	})
}

// TestInitAboveTheCeiling: the ceiling that a survivor knows may be far above what
// clocks and time tell, as after a start with a floor.
func TestInitAboveTheCeiling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		floor := gridtest.Now().Add(time.Hour)
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) { c.Floor = floor }})
		last := loseMajority(t, g, 1)
		out, err := initAt(t, g, g.Running()[0], gridtest.Now())
		ok(t, "init", err)
		if first := out.First.Time(); first.Before(last) || last.Before(floor) {
			t.Errorf("the grid begins at %v; last ceiling %v, floor %v", first, last, floor)
		}
	})
}

// TestInitAboveTheClusterTime: clocks that were ahead have been put right, and the
// survivors were cut off before the majority was lost. Only cluster time, which went on
// at the survivors, tells how far the majority can have gone.
func TestInitAboveTheClusterTime(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5})
		time.Sleep(5 * time.Second)
		for _, by := range []time.Duration{9 * time.Minute, -9 * time.Minute} {
			for _, name := range g.Running() {
				g.StepClock(name, by)
			}
			time.Sleep(10 * time.Second)
		}
		var voters, others []string
		for _, name := range g.Running() {
			s := g.Member(name).Status()
			if slices.ContainsFunc(s.Members, func(i grid.MemberInfo) bool {
				return i.Voter &&
					i.Incarnation == s.Answering
			}) {
				voters = append(voters, name)
			} else {
				others = append(others, name)
			}
		}
		for _, name := range voters {
			for _, other := range others {
				g.Network.Cut(name, other)
			}
		}
		time.Sleep(time.Minute)
		last := g.Member(voters[0]).Status().Ceiling
		g.Crash(voters...)
		if known := ceiling(g); !known.Before(last.Add(-30 * time.Second)) {
			t.Fatalf("the survivors know the ceiling %v, and the last is %v", known, last)
		}
		time.Sleep(15 * time.Second)
		out, err := initAt(t, g, others[0], gridtest.Now())
		ok(t, "init", err)
		if first := out.First.Time(); first.Before(last) {
			t.Errorf("the grid begins at %v; last ceiling %v", first, last)
		}
	})
}

// TestSmallerWindowWithASurvivor: a grid without disks starts again with a smaller
// window. A holder of the life before that is not cut off shows how far its grant goes,
// and no ID comes twice, of the name that it shows or its node.
func TestSmallerWindowWithASurvivor(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		window := time.Minute
		g := gridtest.New(t, gridtest.Config{Members: 2, Change: func(_ string, c *grid.Config) { c.Window = window }})
		g.StartMembers("m1", "m2")
		ids := newChecker(t)
		load := ids.load(time.Millisecond)
		load.run("survivor", create(t, g.Client("old"), "orders", 0))
		time.Sleep(70 * time.Second)
		g.Crash("m1", "m2")
		window = 3 * time.Second
		g.StartMembers("m1", "m2")
		load.run("new", create(t, g.Client("new"), "orders", 0))
		time.Sleep(90 * time.Second)
		load.stop()
		if n := ids.count(); n < 50_000 {
			t.Errorf("only %d IDs", n)
		}
	})
}
