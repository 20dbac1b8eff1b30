package grid_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// lostGrid is a durable grid of which some directories are gone.
type lostGrid struct {
	*gridtest.Grid
	t       *testing.T
	dirs    map[string]string
	ids     map[string]string
	ceiling time.Time
	old     string
	orders  *sequencer.Sequencer
	issued  map[sequencer.ID]bool
	last    time.Time
	disks   []string // with the definition of orders, when all crashed
}

// loseGrid starts members, issues IDs, and crashes all of them.
func loseGrid(t *testing.T, members int) *lostGrid {
	l := &lostGrid{t: t, dirs: map[string]string{}, ids: map[string]string{}, issued: map[sequencer.ID]bool{}}
	l.Grid = gridtest.Start(t, gridtest.Config{Members: members, Durable: true, Change: func(name string, c *grid.Config) {
		l.dirs[name] = c.DataDir
	}})
	var err error
	if l.orders, err = l.Client("c").CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	l.take(1000)
	time.Sleep(20 * time.Second)
	l.take(1000)
	for _, name := range l.Running() {
		s := l.Member(name).Status()
		l.ids[name], l.old = grid.MemberInfo{Incarnation: s.Answering}.ID(), s.Grid
		if s.Ceiling.After(l.ceiling) {
			l.ceiling = s.Ceiling
		}
	}
	partitions := l.Member("m1").Status().Partitions
	l.disks = partitions[roster.PartitionOf("orders", len(partitions))].Disks
	l.Crash(l.Running()...)
	return l
}

// take takes IDs with the handle that lives through everything.
func (l *lostGrid) take(n int) { l.takeOf(l.orders, n) }

func (l *lostGrid) takeOf(s *sequencer.Sequencer, n int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 15*time.Minute)
	defer cancel()
	for range n {
		id, err := s.Next(ctx)
		if err != nil {
			l.t.Fatal(err)
		}
		if l.issued[id] {
			l.t.Fatalf("ID %d was issued twice", id)
		}
		l.issued[id] = true
		l.last = s.Definition().Decompose(id).Time
	}
}

// recover recovers some members' directories.
func (l *lostGrid) recover(names, lost []string) (grid.Recovery, error) {
	return grid.Recover(l.config(names, lost))
}

func (l *lostGrid) config(names, lost []string) grid.RecoverConfig {
	cfg := grid.RecoverConfig{Clock: bubbleClock{}}
	for _, name := range names {
		cfg.DataDirs = append(cfg.DataDirs, l.dirs[name])
	}
	for _, name := range lost {
		cfg.Lost = append(cfg.Lost, l.ids[name])
	}
	return cfg
}

// TestRecover: two of three data directories are gone. The third becomes a grid of its
// own that serves, above all earlier grants; the earlier handle continues, and a directory
// that returns is refused.
func TestRecover(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for what, names := range map[string][]string{"one of three": {"m1"}, "one of five": {"m4"},
		"two of five": {"m2", "m4"}} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				members := map[bool]int{true: 3, false: 5}[what == "one of three"]
				l := loseGrid(t, members)
				var lost []string
				for name := range l.dirs {
					if !slices.Contains(names, name) {
						lost = append(lost, name)
					}
				}
				_, err := l.recover(names, lost[1:])
				if err != nil && strings.Contains(err.Error(), "a majority") {
					return // the two are voters
				}
				if !errors.Is(err, grid.ErrNotConfirmed) || !strings.Contains(err.Error(), "--lost "+l.ids[lost[0]]) {
					t.Errorf("with a member not stated as lost: %v", err)
				}
				res, err := l.recover(names, lost)
				if err != nil {
					t.Fatal(err)
				}
				if res.Old != l.old || res.Grid == l.old || len(res.Lost) != len(lost) || len(res.Members) != len(names) ||
					res.First.Before(l.ceiling.Add(10*time.Minute+20*time.Second)) {
					t.Errorf("%+v; old grid %s, ceiling %v", res, l.old, l.ceiling)
				}
				l.StartMembers(names...)
				synctest.Wait() // the status of each has the members
				for _, name := range names {
					if s := l.Member(name).Status(); s.Grid != res.Grid || len(s.Members) != len(names) ||
						s.Ceiling.Before(res.First) {
						t.Errorf("%s is in grid %s with ceiling %v and members %+v; recovered %+v", name, s.Grid, s.Ceiling,
							s.Members, res)
					} else if s.Settings.Expect != members {
						t.Errorf("%s expects %d members, and %d formed the first grid", name, s.Settings.Expect, members)
					}
				}
				l.take(1000)
				// Its definition is known if any of the directories had a copy. The recovered grid lists disks again
				// for a partition without one, so the list is the earlier grid's.
				kept := slices.ContainsFunc(names, func(name string) bool { return slices.Contains(l.disks, l.ids[name]) })
				other := sequencer.Config{Epoch: epoch.UnixMilli(1_700_000_000_000)}
				if kept {
					if _, err := l.Member(names[0]).CreateSequencer(t.Context(), "orders", other); !errors.Is(err,
						sequencer.ErrConflict) {
						t.Errorf("a create with another epoch: %v, want ErrConflict", err)
					}
				} else {
					if res.Forgotten == 0 {
						t.Error("no disk has its definition, and the recovery does not say so")
					}
					time.Sleep(20 * time.Second) // the earlier handle attaches again, with its definition
					l.take(1000)
				}
				fresh, err := l.Member(names[0]).CreateSequencer(t.Context(), "orders", sequencer.Config{})
				if err != nil {
					t.Fatal(err)
				}
				l.takeOf(fresh, 1000)
				if l.last.Before(res.First) {
					t.Errorf("a new handle has an ID of %v, below %v", l.last, res.First)
				}
				if err := l.TryMember(t.Context(), lost[0]); err == nil || errors.Is(err, sequencer.ErrInvalidConfig) {
					t.Errorf("a directory that returned: %v", err)
				}
				if s := l.Member(names[0]).Status(); s.Grid != res.Grid || len(s.Members) != len(names) {
					t.Errorf("after it returned: %+v", s.Members)
				}
				l.takeOf(fresh, 1000)
				for _, name := range names { // and it is a grid like any other
					l.Crash(name)
				}
				l.StartMembers(names...)
				l.take(10)
			})
		})
	}
}

// TestRecoverRefused: nothing is written if no recovery is needed.
func TestRecoverRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := loseGrid(t, 3)
		other := loseGrid(t, 1)
		l.dirs["other"], l.dirs["empty"], l.dirs["again"] = other.dirs["m1"], t.TempDir(), filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(l.dirs["again"], os.DirFS(l.dirs["m1"])); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			names, lost []string
			kind        error
			want        string
		}{
			{nil, nil, sequencer.ErrInvalidConfig, "no data directory"},
			{[]string{"m1", "m2"}, []string{"m3"}, grid.ErrNotNeeded, "a majority"},
			{[]string{"m1", "other"}, []string{"m2", "m3"}, sequencer.ErrInvalidConfig, "belongs to grid"},
			{[]string{"empty"}, nil, sequencer.ErrInvalidConfig, "holds no member"},
			{[]string{"m1", "again"}, []string{"m2", "m3"}, sequencer.ErrInvalidConfig, "belong to the same member"},
			{[]string{"m1"}, nil, grid.ErrNotConfirmed, "--lost"},
			{[]string{"m1"}, []string{"m1", "m2", "m3"}, sequencer.ErrInvalidConfig, "is not a voter or a disk"},
		} {
			if _, err := l.recover(c.names, c.lost); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, lost %v: %v, want %q", c.names, c.lost, err, c.want)
			}
		}
		l.StartMembers("m1", "m2", "m3")
		if s := l.Member("m1").Status(); s.Grid != l.old {
			t.Errorf("the grid is another one: %s", s.Grid)
		}
		if _, err := l.recover([]string{"m1"}, []string{"m2", "m3"}); err == nil ||
			!strings.Contains(err.Error(), "another process") {
			t.Errorf("a directory in use: %v", err)
		}
		l.take(1000)
	})
}

// TestRecoverCutOff: a recovery that is cut off after any write is completed by another
// run, and until then no member starts on what it has begun.
func TestRecoverCutOff(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for steps := range 9 {
		synctest.Test(t, func(t *testing.T) {
			l := loseGrid(t, 5)
			var names, lost []string
			for _, pair := range [][]string{{"m1", "m2"}, {"m2", "m3"}, {"m3", "m4"}, {"m4", "m5"}, {"m5", "m1"}} {
				if _, err := l.recover(pair, nil); !strings.Contains(err.Error(), "a majority") {
					names = pair
				}
			}
			for name := range l.dirs {
				if !slices.Contains(names, name) {
					lost = append(lost, name)
				}
			}
			first, err := grid.CutRecovery(l.config(names, lost), steps)
			if err == nil {
				if steps < 8 {
					t.Errorf("it was not cut off after %d steps", steps)
				}
				return
			}
			begun := 0
			for _, name := range names {
				if _, err := os.Stat(filepath.Join(l.dirs[name], "recover.json")); err == nil {
					begun++
					if err := l.TryMember(t.Context(), name); !errors.Is(err, sequencer.ErrInvalidConfig) ||
						!strings.Contains(err.Error(), "snowgrid recover") {
						t.Errorf("after %d steps %s starts: %v", steps, name, err)
					}
				}
			}
			if begun > 0 {
				if _, err := l.recover(names[:1], append(lost, names[1])); !errors.Is(err, sequencer.ErrInvalidConfig) {
					t.Errorf("after %d steps with other directories: %v", steps, err)
				}
			}
			again, err := l.recover(names, lost)
			if err != nil || again.Repeated != (begun > 0) || begun > 0 && again.Grid != first.Grid {
				t.Fatalf("after %d steps: %+v, before %+v, error %v", steps, again, first, err)
			}
			l.StartMembers(names...)
			l.take(1000)
		})
	}
}

// TestRecoverAfterMixedGrid: one member with a disk and two without, all restarted
// together, can never have a majority again. The error of the start names the remedy, to
// recover the disk; the others then join.
func TestRecoverAfterMixedGrid(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(name string, c *grid.Config) {
			if name == "m1" {
				c.DataDir = dir
			}
		}})
		orders, err := g.Client("c").CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		issued := map[sequencer.ID]bool{}
		take := func() {
			t.Helper()
			for range 1000 {
				id, err := orders.Next(t.Context())
				if err != nil || issued[id] {
					t.Fatalf("ID %d, issued before: %v, error %v", id, issued[id], err)
				}
				issued[id] = true
			}
		}
		take()
		var lost []string
		for _, name := range g.Running() {
			if name != "m1" {
				lost = append(lost, grid.MemberInfo{Incarnation: g.Member(name).Status().Answering}.ID())
			}
		}
		g.Crash(g.Running()...)
		errs := make(chan error, 3)
		for _, name := range []string{"m1", "m2", "m3"} {
			go func() { errs <- g.TryMember(t.Context(), name) }()
		}
		said := 0
		for range 3 {
			err := <-errs
			if err != nil && strings.Contains(err.Error(), "snowgrid recover") {
				said++
			}
		}
		if said == 0 {
			t.Error("no start names the remedy")
		}
		if _, err := grid.Recover(grid.RecoverConfig{DataDirs: []string{dir}, Lost: lost, Clock: bubbleClock{}}); err != nil {
			t.Fatal(err)
		}
		g.StartMembers("m1", "m2", "m3")
		take()
	})
}
