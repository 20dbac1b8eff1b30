package gridtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// anchorStore is a store that can be out of reach.
type anchorStore struct {
	*store.Memory
	away   atomic.Bool
	writes atomic.Int64
}

func newAnchorStore() *anchorStore { return &anchorStore{Memory: store.NewMemory()} }

var errAway = errors.New("the store is out of reach")

// Load implements store.Store.
func (s *anchorStore) Load(ctx context.Context, key string) (store.Entry, error) {
	if s.away.Load() {
		return store.Entry{}, errAway
	}
	return s.Memory.Load(ctx, key)
}

// Swap implements store.Store.
func (s *anchorStore) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	if s.away.Load() {
		return "", errAway
	}
	s.writes.Add(1)
	return s.Memory.Swap(ctx, e)
}

// anchoredGrid is a grid on an anchor, on a network of its own: it knows of no other.
func anchoredGrid(t *testing.T, s store.Store, members int, log *recorder,
	change func(name string, c *grid.Config)) *gridtest.Grid {
	cfg := gridtest.Config{Members: members, Change: func(name string, c *grid.Config) {
		c.Anchor = s
		if change != nil {
			change(name, c)
		}
	}}
	if log != nil {
		cfg.Logger = log.logger()
	}
	return gridtest.New(t, cfg)
}

// names are those of the first members.
func names(n int) []string { return []string{"m1", "m2", "m3", "m4", "m5", "m6"}[:n] }

// anchorOf returns the anchor in the status of a grid's leader.
func anchorOf(g *gridtest.Grid) grid.AnchorInfo {
	for _, name := range g.Running() {
		if a := g.Member(name).Status().Anchor; a != nil && a.State != "" {
			return *a
		}
	}
	return grid.AnchorInfo{}
}

// TestAnchorFirstStart: a grid without data directories needs no wait, and writes its
// record twice in each 30 s.
func TestAnchorFirstStart(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, began := newAnchorStore(), time.Now()
		g := anchoredGrid(t, s, 3, nil, nil)
		g.StartMembers(names(3)...)
		ids := newChecker(t)
		orders := create(t, g.Client("web"), "orders", 0)
		ids.caller("web").must(orders, 10)
		if took := time.Since(began); took > 7*time.Second { // members find each other
			t.Errorf("the first ID took %v", took)
		}
		before := s.writes.Load()
		time.Sleep(10 * time.Minute)
		ids.caller("web").must(orders, 10)
		if n := s.writes.Load() - before; n < 35 || n > 50 {
			t.Errorf("%d writes in ten minutes, want one for each 15 s", n)
		}
		eventually(t, time.Minute, "all members are ready", func() bool {
			return g.Member("m1").Ready() && g.Member("m2").Ready() && g.Member("m3").Ready()
		})
		if a := anchorOf(g); a.State != "held" || a.Claim == "" || a.RecordGrid != g.Member("m1").Status().Grid ||
			a.Left < 10_000 {
			t.Errorf("anchor %+v", a)
		}
	})
}

// TestAnchorCopiedGrid: the directories of a whole grid are copied, and both grids are
// started. One of them serves; the other waits and says for which grid and holder.
func TestAnchorCopiedGrid(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for what, originalFirst := range map[string]bool{"original first": true, "both together": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, dirs, log := newAnchorStore(), t.TempDir(), &recorder{}
				in := func(of string) func(string, *grid.Config) {
					return func(name string, c *grid.Config) { c.DataDir = filepath.Join(dirs, of, name) }
				}
				a := anchoredGrid(t, s, 3, nil, in("a"))
				a.StartMembers(names(3)...)
				ids := newChecker(t)
				ids.caller("before").must(create(t, a.Client("before"), "orders", 0), 100)
				for _, name := range names(3) {
					a.Crash(name)
				}
				ok(t, "copy", os.CopyFS(filepath.Join(dirs, "b"), os.DirFS(filepath.Join(dirs, "a"))))
				b := anchoredGrid(t, s, 3, log, in("b"))
				if originalFirst {
					a.StartMembers(names(3)...)
				}
				served := make(chan string, 6)
				try := func(g *gridtest.Grid, of string) {
					for _, name := range names(3) {
						if of == "a" && originalFirst {
							continue
						}
						go func() {
							err, serves := g.TryMember(t.Context(), name), of
							if err != nil {
								serves = ""
								if !strings.Contains(err.Error(), "the anchor is held by grid") &&
									!strings.Contains(err.Error(), "its leader may wait 45s for the anchor") {
									t.Errorf("%s of the copy does not say why it waits: %v", name, err)
								}
							}
							served <- serves
						}()
					}
				}
				try(a, "a")
				try(b, "b")
				running := map[*gridtest.Grid]bool{a: originalFirst}
				for range map[bool]int{true: 3, false: 6}[originalFirst] {
					switch <-served {
					case "a":
						running[a] = true
					case "b":
						running[b] = true
					}
				}
				if running[a] == running[b] {
					t.Fatalf("original serves: %v, copy serves: %v", running[a], running[b])
				}
				for g, serves := range running {
					if serves {
						ids.caller("after").must(create(t, g.Client("after"), "orders", 0), 2000)
					}
				}
				if originalFirst && log.count("anchor not held") == 0 {
					t.Error("the copy has not logged that it waits for the anchor")
				}
			})
		})
	}
}

// TestAnchorTwoGridsByHand: of two memory-only grids that were formed by hand with one
// name one serves. When it is gone the other one does, above everything that was issued.
func TestAnchorTwoGridsByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, log := newAnchorStore(), &recorder{}
		a, b := anchoredGrid(t, s, 1, nil, nil), anchoredGrid(t, s, 1, log, nil)
		a.StartMembers("m1")
		ids := newChecker(t)
		old := create(t, a.Client("old"), "orders", 0)
		ids.caller("old").must(old, 1000)
		err := b.TryMember(t.Context(), "m1")
		want(t, "the second grid", err, sequencer.ErrUnavailable)
		for _, part := range []string{"the anchor is held by grid " + a.Member("m1").Status().Grid,
			a.Member("m1").Status().Answering} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("the second grid waits and does not say %q: %v", part, err)
			}
		}
		load := ids.load(10 * time.Millisecond)
		load.run("old holder", old, sequencer.ErrGrantExpired, sequencer.ErrUnavailable)
		a.Network.Cut("old", "m1")
		a.Crash("m1")
		began := time.Now()
		b.StartMembers("m1")
		fresh := create(t, b.Client("new"), "orders", 0)
		ids.caller("new").must(fresh, 1000)
		if took := time.Since(began); took > 50*time.Second {
			t.Errorf("the second grid served after %v, at most 30 s and the start are expected", took)
		}
		time.Sleep(20 * time.Second)
		load.stop()
		if log.count("anchor not held") == 0 {
			t.Error("the second grid has not logged that it waits")
		}
	})
}

// TestAnchorStartWithoutWarning: a start that takes the anchor without a wait logs no warning: of a new grid, and of
// a grid that was stopped cleanly.
func TestAnchorStartWithoutWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, dir := newAnchorStore(), t.TempDir()
		for life := range 2 {
			log := &recorder{}
			g := anchoredGrid(t, s, 1, log, func(_ string, c *grid.Config) { c.DataDir, c.FirstLife = dir, false })
			g.StartMembers("m1")
			create(t, g.Client("web"), "orders", 0)
			if log.count("anchor taken: grants begin above all earlier grants under it") == 0 {
				t.Fatalf("life %d: the anchor was not taken", life)
			}
			if log.count("anchor not held") != 0 {
				t.Errorf("life %d: the log warns that the anchor is not held", life)
			}
			g.Leave("m1")
			time.Sleep(time.Minute) // to above everything that was granted
		}
	})
}

// TestAnchorClocksSetBack: all members of a memory-only grid are killed while a holder
// continues, and the clocks are set back. The next life waits for where grants may reach.
func TestAnchorClocksSetBack(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for _, back := range []time.Duration{0, time.Minute, 10 * time.Minute} {
		t.Run(back.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := anchoredGrid(t, newAnchorStore(), 3, nil, nil)
				g.StartMembers(names(3)...)
				ids := newChecker(t)
				old := create(t, g.Client("old"), "orders", 128)
				load := ids.load(time.Millisecond)
				time.Sleep(20 * time.Second)
				load.run("old", old, sequencer.ErrGrantExpired, sequencer.ErrUnavailable)
				time.Sleep(time.Second)
				for _, name := range names(3) {
					g.Network.Cut("old", name)
					g.Crash(name)
					g.StepClock(name, -back)
				}
				began := time.Now()
				g.StartMembers(names(3)...)
				fresh := create(t, g.Client("new"), "orders", 128)
				if _, err := ids.caller("new").next(within(t, 20*time.Minute), fresh); err != nil {
					t.Fatal(err)
				}
				ids.caller("next").must(fresh, 5000)
				if took := time.Since(began); took > back+time.Minute {
					t.Errorf("clocks were set back by %v, and the next ID took %v", back, took)
				}
				load.stop()
			})
		})
	}
}

// TestAnchorAway: while the store does not answer grants end at the ceiling; the time left
// is in the status, and everything continues when the store is back.
func TestAnchorAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, log := newAnchorStore(), &recorder{}
		g := anchoredGrid(t, s, 3, log, nil)
		g.StartMembers(names(3)...)
		ids := newChecker(t)
		orders := create(t, g.Client("web"), "orders", 0)
		load := ids.load(100 * time.Millisecond)
		load.run("web", orders)
		time.Sleep(30 * time.Second)
		s.away.Store(true)
		last := grid.Milliseconds(1 << 62)
		var stopped bool
		for range 60 {
			time.Sleep(time.Second)
			a := anchorOf(g)
			if a.Left > last+1000 {
				t.Errorf("the time left rose from %d to %d ms", last, a.Left)
			}
			last = a.Left
			if last == 0 && !stopped {
				stopped = true
				if a.Error == "" || a.Advice == "" {
					t.Errorf("no reason in the status: %+v", a)
				}
				if why := g.Member("m1").Status().NotReady; !strings.Contains(why, "anchor") {
					t.Errorf("not ready: %q", why)
				}
			}
		}
		if !stopped {
			t.Fatalf("grants are left after a minute: %d ms", last)
		}
		if log.count("anchor unreachable or unreadable; grants end at the ceiling") == 0 {
			t.Error("nothing was logged")
		}
		n := ids.count()
		time.Sleep(5 * time.Second)
		if ids.count() != n {
			t.Error("IDs were issued beyond the ceiling")
		}
		s.away.Store(false)
		eventually(t, 10*time.Second, "IDs again", func() bool { return ids.count() > n+10 })
		eventually(t, 10*time.Second, "ready again", func() bool { return g.Member("m1").Ready() })
		load.stop()
	})
}

// TestAnchorReformFromSurvivor: the survivor of a memory-only grid of two forms the next
// one without a person, above everything that the old one granted. While the other member
// is only cut off, and extends the anchor, it does not.
func TestAnchorReformFromSurvivor(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := anchoredGrid(t, newAnchorStore(), 2, nil, nil)
		g.StartMembers(names(2)...)
		ids := newChecker(t)
		orders := create(t, g.Client("web"), "orders", 0)
		load := ids.load(100 * time.Millisecond)
		load.run("web", orders)
		leads := g.Leader()
		survivor := map[string]string{"m1": "m2", "m2": "m1"}[leads]
		old := g.Member(survivor).Status().Grid
		g.Network.Cut(leads, survivor)
		time.Sleep(3 * time.Minute)
		if got := g.Member(survivor).Status().Grid; got != old {
			t.Fatalf("the survivor formed grid %s while the leader of %s runs", got, old)
		}
		g.Network.Heal(leads, survivor)
		eventually(t, time.Minute, "together again", func() bool {
			return g.Member(survivor).Ready() &&
				g.Member(leads).Ready()
		})
		g.Crash(leads)
		took := eventually(t, 3*time.Minute, "the survivor serves alone", func() bool {
			return g.Member(survivor).Status().Grid != old && g.Member(survivor).Ready()
		})
		n := ids.count()
		eventually(t, time.Minute, "IDs again", func() bool { return ids.count() > n+10 })
		t.Logf("the survivor served after %v", took)
		load.stop()
	})
}

// TestAnchorReformAfterAnOutage: no member reaches the anchor for long, and one is cut off from its leader.
// When the store is back the leader extends the record, and the member forms no grid.
func TestAnchorReformAfterAnOutage(t *testing.T) {
	long.Only(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem, stores := store.NewMemory(), map[string]*anchorStore{}
		g := gridtest.New(t, gridtest.Config{Members: 2, Change: func(name string, c *grid.Config) {
			stores[name] = &anchorStore{Memory: mem}
			c.Anchor = stores[name]
		}})
		g.StartMembers(names(2)...)
		leads := g.Leader()
		survivor := map[string]string{"m1": "m2", "m2": "m1"}[leads]
		old := g.Member(survivor).Status().Grid
		g.Network.Cut(leads, survivor)
		time.Sleep(20 * time.Second) // the survivor has read the record, and the outage adds to its silence
		stores[leads].away.Store(true)
		stores[survivor].away.Store(true)
		time.Sleep(5 * time.Minute)
		stores[survivor].away.Store(false) // so that it is the first to read the record
		time.Sleep(10 * time.Second)
		stores[leads].away.Store(false)
		time.Sleep(2 * time.Minute) // nothing happens: longer than a survivor waits
		if got := g.Member(survivor).Status().Grid; got != old {
			t.Errorf("the survivor formed grid %s while the leader of %s runs", got, old)
		}
		g.Network.Heal(leads, survivor)
		eventually(t, time.Minute, "together again", func() bool {
			return g.Member(survivor).Ready() && g.Member(leads).Ready()
		})
	})
}

// TestAnchorReformBesideStarts: the survivor of a memory-only grid forms the next one also while other
// processes start, which are in gossip and cannot judge that the grid is over.
func TestAnchorReformBesideStarts(t *testing.T) {
	long.Only(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := anchoredGrid(t, newAnchorStore(), 3, nil, nil)
		g.StartMembers(names(3)...)
		old := g.Member("m1").Status().Grid
		g.Crash("m2", "m3")
		var starts sync.WaitGroup
		for i := range 8 { // so that one of them comes before the survivor
			starts.Go(func() {
				ok(t, "start", g.TryMember(within(t, 4*time.Minute), fmt.Sprint("m", 4+i)))
			})
		}
		eventually(t, 3*time.Minute, "the survivor serves", func() bool {
			s := g.Member("m1").Status()
			return s.Grid != old && s.NotReady == ""
		})
		starts.Wait()
	})
}

// TestAnchorReformPastASurvivor: the first survivor does not reach the anchor, so the next one forms the
// grid.
func TestAnchorReformPastASurvivor(t *testing.T) {
	long.Only(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem, stores := store.NewMemory(), map[string]*anchorStore{}
		g := gridtest.New(t, gridtest.Config{Members: 5, Change: func(name string, c *grid.Config) {
			stores[name] = &anchorStore{Memory: mem}
			c.Anchor, c.Voters = stores[name], 5
		}})
		g.StartMembers("m1", "m2", "m3", "m4", "m5")
		old := g.Member("m1").Status().Grid
		survivors := g.Running()
		slices.SortFunc(survivors, func(a, b string) int {
			return strings.Compare(g.Member(a).Status().Answering, g.Member(b).Status().Answering)
		})
		stores[survivors[0]].away.Store(true)
		g.Crash(survivors[2:]...)
		eventually(t, 3*time.Minute, "both serve", func() bool {
			for _, m := range survivors[:2] {
				if s := g.Member(m).Status(); s.Grid == old || s.NotReady != "" {
					return false
				}
			}
			return true
		})
	})
}

// TestAnchorReformAgain: the survivor that forms the next grid crashes before, while or after the others
// join it. These form another one without a person.
func TestAnchorReformAgain(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, after := range long.Or([]time.Duration{150 * time.Millisecond, 40 * time.Second}, []time.Duration{
		0, 150 * time.Millisecond, 500 * time.Millisecond, time.Second, 3 * time.Second, 40 * time.Second}) {
		for _, survivors := range []int{2, 3} {
			t.Run(fmt.Sprintf("one of %d after %v", survivors, after), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { reformAgain(t, survivors, after) })
			})
		}
	}
}

func reformAgain(t *testing.T, survivors int, after time.Duration) {
	g := anchoredGrid(t, newAnchorStore(), 6, nil, nil)
	g.StartMembers(names(6)...)
	ids := newChecker(t)
	load := ids.load(100 * time.Millisecond)
	var orders *sequencer.Sequencer
	for _, name := range names(6) {
		orders = create(t, g.Member(name), "orders", 0)
		load.run(name, orders, sequencer.ErrClosed)
	}
	loseMajority(t, g, survivors)
	former := formerOf(t, g, g.Member(g.Running()[0]).Status().Grid)
	time.Sleep(after)
	g.Crash(former)
	time.Sleep(20 * time.Second) // the crash is seen: with a majority left, no status shows that
	took := eventually(t, 4*time.Minute, "the others serve one grid", func() bool {
		grids := map[string]bool{}
		for _, m := range g.Running() {
			s := g.Member(m).Status()
			grids[s.Grid] = true
			if s.NotReady != "" {
				return false
			}
		}
		return len(grids) == 1
	})
	before := ids.record()
	eventually(t, time.Minute, "all others have IDs", func() bool {
		labels, _, _ := ids.since(before, map[string]*sequencer.Sequencer{"orders": orders})
		return len(labels) == len(g.Running())
	})
	t.Logf("they served after %v", 20*time.Second+took)
	load.stop()
}

// TestAnchorReformWithoutASurvivor: the survivor that forms the next grid crashes, and another one forms it
// while the third reaches neither that survivor nor the anchor. The third joins that grid later.
func TestAnchorReformWithoutASurvivor(t *testing.T) {
	long.Only(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, stores := threeSurvivors(t)
		g.Crash(formerOf(t, g, g.Member(g.Running()[0]).Status().Grid))
		a, b := g.Running()[0], g.Running()[1]
		g.Network.Cut(a, b)
		stores[b].away.Store(true)
		eventually(t, 4*time.Minute, "one of them serves", func() bool { return g.Member(a).Status().NotReady == "" })
		g.Network.Heal(a, b)
		stores[b].away.Store(false)
		serveOneGrid(t, g, a, b)
	})
}

// TestAnchorReformLeft: a survivor has left its grid for a member that crashed before it formed the next, and others
// form that without it. It joins them later.
func TestAnchorReformLeft(t *testing.T) {
	long.Only(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, stores := threeSurvivors(t)
		left, other := g.Running()[0], g.Running()[1]
		var old roster.GridID
		ok(t, "the grid's ID", old.UnmarshalText([]byte(g.Member(left).Status().Grid)))
		in := wire.AbandonRequest{Old: old, Grid: roster.GridID{1}, BootstrapMember: "gone", Expect: 2}
		eventually(t, time.Minute, "it has no leader and leaves", func() bool {
			return callMember(t, g, left, wire.PathAbandon, in, &wire.AbandonResponse{}) == nil
		})
		for _, m := range g.Running()[1:] {
			g.Network.Cut(left, m)
		}
		stores[left].away.Store(true)
		eventually(t, 4*time.Minute, "the others serve", func() bool { return g.Member(other).Status().NotReady == "" })
		g.Network.HealAll()
		stores[left].away.Store(false)
		serveOneGrid(t, g, left, other)
	})
}

// threeSurvivors returns an anchored grid that has lost three of its six members, a majority of the voters. Each member
// reaches the anchor by a store of its own.
func threeSurvivors(t *testing.T) (*gridtest.Grid, map[string]*anchorStore) {
	t.Helper()
	mem, stores := store.NewMemory(), map[string]*anchorStore{}
	g := gridtest.New(t, gridtest.Config{Members: 6, Change: func(name string, c *grid.Config) {
		stores[name] = &anchorStore{Memory: mem}
		c.Anchor = stores[name]
	}})
	g.StartMembers(names(6)...)
	loseMajority(t, g, 3)
	return g, stores
}

// serveOneGrid waits until two members serve one grid.
func serveOneGrid(t *testing.T, g *gridtest.Grid, a, b string) {
	t.Helper()
	t.Cleanup(func() { logUnready(t, g, a, b) })
	eventually(t, 2*time.Minute, "both serve one grid", func() bool {
		a, b := g.Member(a).Status(), g.Member(b).Status()
		return a.NotReady == "" && b.NotReady == "" && a.Grid == b.Grid
	})
}

// TestAnchorReformNotJoinedAgain: a member that has left a grid for a recovery does not join it again when
// that grid still runs: the member's votes and its log are lost. Its status has the remedy.
func TestAnchorReformNotJoinedAgain(t *testing.T) {
	long.Only(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := anchoredGrid(t, newAnchorStore(), 3, nil, nil)
		g.StartMembers(names(3)...)
		for _, other := range []string{"m1", "m2"} {
			g.Network.Cut("m3", other)
		}
		var old roster.GridID
		ok(t, "the grid's ID", old.UnmarshalText([]byte(g.Member("m3").Status().Grid)))
		in := wire.AbandonRequest{Old: old, Grid: roster.GridID{1}, BootstrapMember: "gone", Expect: 2}
		eventually(t, time.Minute, "it has no leader and leaves", func() bool {
			return callMember(t, g, "m3", wire.PathAbandon, in, &wire.AbandonResponse{}) == nil
		})
		for _, other := range []string{"m1", "m2"} {
			g.Network.Heal("m3", other)
		}
		eventually(t, time.Minute, "the status has the remedy", func() bool {
			return strings.Contains(g.Member("m3").Status().NotReady, "restart this member")
		})
		time.Sleep(2 * time.Minute) // nothing happens: longer than a survivor waits for the anchor
		if s := g.Member("m3").Status(); strings.Trim(s.Grid, "0") != "" {
			t.Errorf("it has joined %s again", s.Grid)
		}
		g.Crash("m3")
		ok(t, "restart", g.TryMember(within(t, 2*time.Minute), "m3"))
	})
}

// formerOf waits until a member has begun to form a grid after an old one, and returns it.
func formerOf(t *testing.T, g *gridtest.Grid, old string) (former string) {
	t.Helper()
	eventually(t, 4*time.Minute, "a survivor forms a grid", func() bool {
		for _, m := range g.Running() {
			if s := g.Member(m).Status(); s.Grid != old && strings.Trim(s.Grid, "0") != "" {
				former = m
			}
		}
		return former != ""
	})
	return former
}

// TestAnchorTaken: a grid whose anchor was taken by another stops granting, names that
// grid and its holder in status and log, and takes the anchor back when the other is gone.
func TestAnchorTaken(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, log := newAnchorStore(), &recorder{}
		a, b := anchoredGrid(t, s, 1, log, nil), anchoredGrid(t, s, 1, nil, nil)
		a.StartMembers("m1")
		ids := newChecker(t)
		orders := create(t, a.Client("web"), "orders", 0)
		load := ids.load(50 * time.Millisecond)
		load.run("web", orders)
		b.StepClock("m1", 5*time.Minute) // it takes the limit for one that has passed
		b.StartMembers("m1")
		ids.caller("other").must(create(t, b.Client("other"), "orders", 0), 1000)
		other := b.Member("m1").Status()
		eventually(t, time.Minute, "the anchor was taken", func() bool { return anchorOf(a).State == "anchor_taken" })
		if got := anchorOf(a); got.RecordGrid != other.Grid || got.RecordHolder != other.Answering ||
			got.Advice == "" {
			t.Errorf("status %+v, want grid %s and holder %s", got, other.Grid, other.Answering)
		}
		if log.count("anchor_taken: another grid has taken the anchor; this grid stops granting") != 1 {
			t.Error("it was not logged once")
		}
		eventually(t, time.Minute, "no grants are left", func() bool { return anchorOf(a).Left == 0 })
		b.Crash("m1")
		eventually(t, 2*time.Minute, "the anchor was taken back", func() bool { return anchorOf(a).State == "held" })
		n := ids.count()
		eventually(t, 10*time.Minute, "IDs again", func() bool { return ids.count() > n+10 })
		load.stop()
	})
}

// TestAnchorStopInOrder: after an orderly stop of a memory-only grid the next one begins
// without a wait.
func TestAnchorStopInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := anchoredGrid(t, newAnchorStore(), 2, nil, nil)
		g.StartMembers(names(2)...)
		ids := newChecker(t)
		c := g.Client("web")
		ids.caller("first").must(create(t, c, "orders", 0), 1000)
		ok(t, "leave", c.Leave(within(t, time.Minute)))
		g.Leave("m2")
		g.Leave("m1")
		began := time.Now()
		g.StartMembers(names(2)...)
		ids.caller("second").must(create(t, g.Client("again"), "orders", 0), 1000)
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("the next life served after %v", took)
		}
	})
}

// TestAnchorLoneMembers: of lone members side by side one serves.
func TestAnchorLoneMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ids := newAnchorStore(), newChecker(t)
		start := func(limit time.Duration) (*grid.Member, error) {
			return grid.Start(within(t, limit), grid.Config{Anchor: s, Clock: shifted{}})
		}
		first, err := start(time.Minute)
		ok(t, "first", err)
		ids.caller("first").must(create(t, first, "orders", 0), 1000)
		if second, err := start(time.Minute); err == nil {
			ids.caller("second").must(create(t, second, "orders", 0), 1000)
			_ = second.Close()
			t.Error("both serve")
		} else if !strings.Contains(err.Error(), "the anchor is held by grid") {
			t.Errorf("the second one does not say why it waits: %v", err)
		}
		ok(t, "leave", first.Leave(within(t, time.Minute)))
		began := time.Now()
		second, err := start(time.Minute)
		ok(t, "second", err)
		ids.caller("second").must(create(t, second, "orders", 0), 1000)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the second one served %v after the first had left", took)
		}
		ok(t, "close", second.Close())
	})
}

// shifted is the wall clock of members without a network.
type shifted struct{}

// Now implements grid.Clock.
func (shifted) Now() time.Time { return gridtest.Now() }

// TestAnchorRefusesLossyStore: a store that may lose acknowledged writes is refused.
func TestAnchorRefusesLossyStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, err := grid.Start(within(t, time.Minute), grid.Config{Anchor: lossyStore{newAnchorStore()}, Clock: shifted{}})
		want(t, "a lossy store", err, sequencer.ErrInvalidConfig)
	})
}

type lossyStore struct{ *anchorStore }

// Generation implements store.Generations.
func (lossyStore) Generation(context.Context) (string, bool, error) { return "redis 1", true, nil }

// SwapIn implements store.Generations.
func (s lossyStore) SwapIn(ctx context.Context, e store.Entry, _ string) (store.Revision, error) {
	return s.Swap(ctx, e)
}
