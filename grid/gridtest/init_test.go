package gridtest_test

import (
	"context"
	"fmt"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// callMember makes one call to a member from a host of its own.
func callMember(t *testing.T, g *gridtest.Grid, name, path string, in, out any) error {
	t.Helper()
	h := calls.NewPool(g.Network.Host("operator").Dial, g.Load(security.Admin))
	defer h.Close()
	var s grid.Status
	ok(t, "status of "+name, h.Call(within(t, 10*time.Second), name+":7948", wire.PathStatus,
		wire.StatusRequest{Local: true}, &s))
	head := frame.Head{Path: path, Target: s.Answering}
	return h.CallWith(within(t, 30*time.Second), name+":7948", head, in, out)
}

// initAt asks a member to recover the grid.
func initAt(t *testing.T, g *gridtest.Grid, name string, floor time.Time) (wire.InitResponse, error) {
	t.Helper()
	in := wire.InitRequest{Force: true}
	if !floor.IsZero() {
		in.Floor = clustertime.TickOf(floor)
	}
	return initWith(t, g, name, in)
}

// initWith is initAt with everything that can be said.
func initWith(t *testing.T, g *gridtest.Grid, name string, in wire.InitRequest) (wire.InitResponse, error) {
	t.Helper()
	var out wire.InitResponse
	err := callMember(t, g, name, wire.PathInit, in, &out)
	return out, err
}

// loseMajority crashes members, the voters first, until only some are left, and
// returns the latest ceiling that a survivor knows when all have noticed.
func loseMajority(t *testing.T, g *gridtest.Grid, survivors int) time.Time {
	t.Helper()
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
	g.Crash(append(voters, others...)[:len(g.Running())-survivors]...)
	time.Sleep(15 * time.Second)
	return ceiling(g)
}

// ceiling returns the latest ceiling that a running member knows.
func ceiling(g *gridtest.Grid) (latest time.Time) {
	for _, name := range g.Running() {
		if c := g.Member(name).Status().Ceiling; c.After(latest) {
			latest = c
		}
	}
	return latest
}

// timeOf returns an ID's timestamp.
func timeOf(s *sequencer.Sequencer, id sequencer.ID) time.Time {
	return s.Definition().Decompose(id).Time
}

// TestInit: the majority of a memory-only grid is lost, under load. No ID at or above the
// last ceiling is issued until a survivor recovers the grid. Then all holders continue by
// themselves, above all earlier IDs.
func TestInit(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for what, c := range map[string]struct {
		members, survivors int
		floor              time.Duration // from now, 0 = none
	}{
		"one of three":              {3, 1, 0},
		"two of five":               {5, 2, -time.Second},
		"two of five with a floor":  {5, 2, time.Minute},
		"one of three with a floor": {3, 1, -time.Hour}, // below the survivor's ceiling
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { initScenario(t, c.members, c.survivors, c.floor) })
		})
	}
}

func initScenario(t *testing.T, members, survivors int, ahead time.Duration) {
	g := gridtest.Start(t, gridtest.Config{Members: members})
	ids := newChecker(t)
	load := ids.load(200 * time.Millisecond)
	byName := map[string]*sequencer.Sequencer{}
	for i, name := range someNames {
		label := fmt.Sprint("client ", i)
		byName[name] = create(t, g.Client(fmt.Sprint("c", i)), name, 0)
		load.run(label, byName[name])
	}
	for _, name := range g.Running() {
		load.run("member "+name, create(t, g.Member(name), "orders", 0), sequencer.ErrClosed)
	}
	time.Sleep(5 * time.Second)
	last := loseMajority(t, g, survivors)
	time.Sleep(30 * time.Second)
	before := g.Member(g.Running()[0]).Status()
	if c := ceiling(g); !c.Equal(last) {
		t.Fatalf("the ceiling went from %v to %v without a majority", last, c)
	}
	if _, _, top := ids.since(nil, byName); !top.Before(last) {
		t.Errorf("an ID has time %v, and the last ceiling is %v", top, last)
	}
	if !strings.Contains(before.Advice, "snowgrid init --force --addr") {
		t.Errorf("advice %q", before.Advice)
	}

	var floor time.Time
	if ahead != 0 {
		floor = gridtest.Now().Add(ahead)
	}
	told, old := g.Running()[0], ids.record()
	began := time.Now()
	out, err := initAt(t, g, told, floor)
	ok(t, "init", err)
	first := out.First.Time()
	if out.Members != survivors || first.Before(last) || first.Before(floor) {
		t.Errorf("formed %+v; last ceiling %v, floor %v", out, last, floor)
	}
	eventually(t, time.Minute, "all survivors serve the new grid", func() bool {
		for _, name := range g.Running() {
			if s := g.Member(name).Status(); s.Grid != out.Grid.String() || !serves(s) || s.Advice != "" {
				return false
			}
		}
		return true
	})
	t.Logf("all serve after %v", time.Since(began))
	eventually(t, 13*time.Minute, "every caller has IDs again", func() bool {
		labels, _, _ := ids.since(old, byName)
		return len(labels) == survivors+len(someNames)
	})
	t.Logf("every caller has IDs again after %v; %d IDs", time.Since(began), ids.count())
	if _, low, _ := ids.since(old, byName); low.Before(first) {
		t.Errorf("an ID after init has time %v, want %v or later", low, first)
	}
	late := create(t, g.Client("late"), "another", 0)
	if at := timeOf(late, ids.caller("late").must(late, 1)); at.Before(first) {
		t.Errorf("the first ID of a new name has time %v, want %v or later", at, first)
	}
	g.StartMembers(fmt.Sprint("m", members+1))
	load.run("newcomer", create(t, g.Member(fmt.Sprint("m", members+1)), "orders", 0), sequencer.ErrClosed)
	time.Sleep(20 * time.Second)
	load.stop()
}

// TestInitRefused: nothing is done without force, to a grid that agrees, and to one
// that is on disk.
func TestInitRefused(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		durable, crash, force bool
		kind                  error
		want                  string
	}{
		"healthy":             {false, false, true, wire.ErrNotNeeded, "recovery refused: the grid still has a leader ("},
		"durable":             {true, true, true, wire.ErrNotNow, "start the missing members again"},
		"durable and healthy": {true, false, true, wire.ErrNotNow, "data directories"},
		"not forced":          {false, true, false, wire.ErrNotConfirmed, "nothing was done"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: c.durable})
				if c.crash {
					loseMajority(t, g, 1)
				}
				name := g.Running()[0]
				before := g.Member(name).Status().Grid
				err := callMember(t, g, name, wire.PathInit, wire.InitRequest{Force: c.force}, &wire.InitResponse{})
				want(t, what, err, c.kind)
				if err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("the error says %q, want %q in it", err, c.want)
				}
				time.Sleep(5 * time.Second)
				if s := g.Member(name).Status(); s.Grid != before || s.Version == 0 {
					t.Errorf("the member is in grid %s at version %d, want %s", s.Grid, s.Version, before)
				}
			})
		})
	}
}

// TestInitWithSurvivorCutOff: a survivor that the bootstrap member does not see stays in the
// old grid, grants nothing above its ceiling, and says so when they meet.
func TestInitWithSurvivorCutOff(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5})
		ids := newChecker(t)
		load := ids.load(200 * time.Millisecond)
		for _, name := range g.Running() {
			load.run(name, create(t, g.Member(name), "orders", 0), sequencer.ErrClosed)
		}
		time.Sleep(5 * time.Second)
		last := loseMajority(t, g, 2)
		asked, behind := g.Running()[0], g.Running()[1]
		old := g.Member(behind).Status().Grid
		g.Network.Cut(asked, behind)
		time.Sleep(10 * time.Second)
		out, err := initAt(t, g, asked, time.Time{})
		ok(t, "init", err)
		if out.Members != 1 {
			t.Errorf("%d members form the grid, want 1", out.Members)
		}
		time.Sleep(time.Minute)
		g.Network.HealAll()
		time.Sleep(time.Minute)
		for _, name := range []string{asked, behind} {
			if s := g.Member(name).Status(); len(s.ForeignMembers) == 0 {
				t.Errorf("%s does not say that it has met another grid", name)
			}
		}
		if s := g.Member(behind).Status(); s.Grid != old || s.Ceiling.After(last) {
			t.Errorf("the one left behind is in grid %s with ceiling %v, want %s and %v", s.Grid, s.Ceiling, old, last)
		}
		if s := g.Member(asked).Status(); s.Grid != out.Grid.String() || !serves(s) {
			t.Errorf("the bootstrap member is in grid %s, ready %v: %s", s.Grid, s.Ready, s.NotReady)
		}
		load.stop()
	})
}

// TestInitAtTwo: two survivors that are told the same at the same time do not form
// two grids; one that is told again does.
func TestInitAtTwo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5})
		ids := newChecker(t)
		load := ids.load(200 * time.Millisecond)
		for _, name := range g.Running() {
			load.run(name, create(t, g.Member(name), "orders", 0), sequencer.ErrClosed)
		}
		loseMajority(t, g, 2)
		a, b := g.Running()[0], g.Running()[1]
		errs := make(chan error, 2)
		for _, name := range []string{a, b} {
			go func() {
				_, err := initAt(t, g, name, time.Time{})
				errs <- err
			}()
		}
		first, second := <-errs, <-errs
		t.Logf("%v\n%v", first, second)
		if first == nil && second == nil {
			t.Error("both have formed a grid")
		}
		if first != nil && second != nil {
			time.Sleep(2 * time.Second)
			_, err := initAt(t, g, b, time.Time{})
			ok(t, "init again", err)
		}
		t.Cleanup(func() { logUnready(t, g, a, b) })
		eventually(t, 2*time.Minute, "both serve one grid", func() bool {
			one, two := g.Member(a).Status(), g.Member(b).Status()
			return serves(one) && serves(two) && one.Grid == two.Grid
		})
		time.Sleep(30 * time.Second)
		load.stop()
	})
}

// logUnready logs the grids of members and why they are not ready, if the test has failed.
func logUnready(t *testing.T, g *gridtest.Grid, members ...string) {
	if !t.Failed() {
		return
	}
	for _, m := range members {
		s := g.Member(m).Status()
		t.Logf("%s: grid %s, %s", m, s.Grid, s.NotReady)
	}
}

// TestInitAgain: the bootstrap member crashes, right after it has answered or later, and the
// other survivor is told to form the grid once more.
func TestInitAgain(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, after := range []time.Duration{0, 500 * time.Millisecond, 40 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 5})
				ids := newChecker(t)
				load := ids.load(200 * time.Millisecond)
				for _, name := range g.Running() {
					load.run(name, create(t, g.Member(name), "orders", 0), sequencer.ErrClosed)
				}
				orders := create(t, g.Client("c"), "orders", 0)
				load.run("client", orders)
				loseMajority(t, g, 2)
				first, second := g.Running()[0], g.Running()[1]
				_, err := initAt(t, g, first, gridtest.Now())
				ok(t, "init", err)
				time.Sleep(after)
				last := ceiling(g)
				g.Crash(first)
				time.Sleep(15 * time.Second)
				out, err := initAt(t, g, second, gridtest.Now())
				ok(t, "init again", err)
				if begin := out.First.Time(); begin.Before(last) {
					t.Errorf("the grid begins at %v, and the one before had the ceiling %v", begin, last)
				}
				before := ids.record()
				eventually(t, 2*time.Minute, "both have IDs again", func() bool {
					labels, _, _ := ids.since(before, map[string]*sequencer.Sequencer{"orders": orders})
					return labels[second] && labels["client"]
				})
				load.stop()
			})
		})
	}
}

// TestInitOfAMemberThatWaits: a member that waits for others that never come forms
// a grid when it is told to, after a wait, or right above a floor.
func TestInitOfAMemberThatWaits(t *testing.T) {
	t.Parallel()
	for what, back := range map[string]time.Duration{"wait": 0, "floor": time.Hour} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3})
				old := create(t, g.Member("m1"), "orders", 0)
				ids := newChecker(t)
				used := timeOf(old, ids.caller("old").must(old, 10))
				g.Crash(g.Running()...)
				started := make(chan error, 1)
				go func() { started <- g.TryMember(context.WithoutCancel(t.Context()), "m1") }()
				time.Sleep(5 * time.Second)
				var floor time.Time
				if back > 0 {
					floor = used
				}
				out, err := initAt(t, g, "m1", floor)
				ok(t, "init", err)
				ok(t, "start", <-started)
				began := time.Now()
				s := create(t, g.Member("m1"), "orders", 0)
				at := timeOf(s, ids.caller("new").must(s, 1))
				t.Logf("first ID %v after it serves", time.Since(began))
				if clustertime.TickOf(at) < out.First || !at.After(used) || out.Members != 1 {
					t.Errorf("first ID at %v; used up to %v; formed %+v", at, used, out)
				}
				if back > 0 && time.Since(began) > 2*time.Second {
					t.Errorf("the first ID took %v above a floor", time.Since(began))
				}
			})
		})
	}
}

// record is the set of IDs issued up to some time.
type record map[string]map[sequencer.ID]bool

func (c *checker) record() record {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := record{}
	for name, ids := range c.issued {
		out[name] = map[sequencer.ID]bool{}
		for id := range ids {
			out[name][id] = true
		}
	}
	return out
}

// since returns who has issued IDs since a record was made, and the span of their
// timestamps.
func (c *checker) since(before record, epochs map[string]*sequencer.Sequencer) (labels map[string]bool, oldest,
	newest time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	labels = map[string]bool{}
	for name, ids := range c.issued {
		for id, label := range ids {
			if before[name][id] {
				continue
			}
			labels[label] = true
			at := timeOf(epochs[name], id)
			if oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
			if at.After(newest) {
				newest = at
			}
		}
	}
	return labels, oldest, newest
}
