package grid_test

import (
	"context"
	"errors"
	"github.com/snowgrid/snowgrid/internal/long"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestRecoveryIsReportedByTheGrid: the lost members and the partitions whose definitions may be
// lost are in the status of every member of the recovered grid, also after a restart.
func TestRecoveryIsReportedByTheGrid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := loseGrid(t, 3)
		res, err := l.recover([]string{"m1"}, []string{"m2", "m3"})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			l.StartMembers("m1")
			s := l.Member("m1").Status()
			r := s.Recovered
			if r == nil || r.Old != l.old || len(r.Lost) != 2 || len(r.Forgotten) != res.Forgotten ||
				len(r.Outdated) != res.Outdated {
				t.Fatalf("the status has the recovery %+v, and it was %+v", r, res)
			}
			for _, m := range r.Lost {
				if m.API == "" || m.ID != l.ids["m2"] && m.ID != l.ids["m3"] {
					t.Errorf("lost %+v; m2 is %s and m3 %s", m, l.ids["m2"], l.ids["m3"])
				}
			}
			for _, p := range s.Partitions {
				if without := len(p.Disks) == 0; without != slices.Contains(r.Forgotten, p.ID) {
					t.Errorf("partition %d is on the disks of %v; forgotten are %v", p.ID, p.Disks, r.Forgotten)
				}
			}
			l.Crash("m1")
		}
	})
}

// TestRecoverOfUnreadableDirectory: a directory whose log or snapshot cannot be read is refused
// with an error that names the file, and nothing is written.
func TestRecoverOfUnreadableDirectory(t *testing.T) {
	t.Parallel()
	for what, damage := range map[string]func(t *testing.T, dir string) string{
		"log": func(t *testing.T, dir string) string {
			overwrite(t, filepath.Join(dir, "raft.db"))
			return "raft.db"
		},
		"snapshot": func(t *testing.T, dir string) string {
			overwrite(t, onlyFile(t, filepath.Join(dir, "snapshots", "*", "snapshots", "*", "state.bin")))
			return "snapshots"
		},
		"description of the snapshot": func(t *testing.T, dir string) string {
			overwrite(t, onlyFile(t, filepath.Join(dir, "snapshots", "*", "snapshots", "*", "meta.json")))
			return "snapshots"
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				g := gridtest.Start(t, gridtest.Config{Members: 1, Change: func(_ string, c *grid.Config) { c.DataDir = dir }})
				cutLog(t, g.Member("m1"))
				g.Crash("m1")
				file := damage(t, dir)
				_, err := grid.Recover(grid.RecoverConfig{DataDirs: []string{dir}, Clock: bubbleClock{}})
				if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), filepath.Join(dir, file)) {
					t.Errorf("recover: %v, want an error that names %s", err, file)
				}
				if err := g.TryMember(t.Context(), "m1"); !errors.Is(err, sequencer.ErrInvalidConfig) ||
					!strings.Contains(err.Error(), "snowgrid recover") {
					t.Errorf("start: %v, want an error that names recover", err)
				}
			})
		})
	}
}

// overwrite inverts most bytes of a file.
func overwrite(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) / 8; i < 7*len(data)/8; i++ {
		data[i] ^= 0xff
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// onlyFile returns the file that a pattern matches.
func onlyFile(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s matches %v, %v; want one file", pattern, found, err)
	}
	return found[0]
}

// TestRecoveredGridKeepsItsAnchor: one directory of an anchored grid is recovered while the
// others' members run. Without the store in its configuration its member issues nothing, and
// with it only after an operator has taken the anchor.
func TestRecoveredGridKeepsItsAnchor(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, configured := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			anchor, dirs, recovered := store.NewMemory(), t.TempDir(), false
			change := func(name string, c *grid.Config) {
				c.DataDir = filepath.Join(dirs, name)
				if c.Anchor = anchor; recovered && !configured {
					c.Anchor = nil
				}
			}
			g := gridtest.Start(t, gridtest.Config{Members: 3, Change: change})
			var lost []string
			for _, name := range []string{"m2", "m3"} {
				lost = append(lost, grid.MemberInfo{Incarnation: g.Member(name).Status().Answering}.ID())
			}
			g.Crash("m1")
			res, err := grid.Recover(grid.RecoverConfig{DataDirs: []string{filepath.Join(dirs, "m1")}, Lost: lost,
				Clock: bubbleClock{}})
			if err != nil {
				t.Fatal(err)
			}
			recovered = true
			alone := gridtest.New(t, gridtest.Config{Members: 1, Change: change}) // another network: it does not reach m2 and m3
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			defer cancel()
			if err := alone.TryMember(ctx, "m1"); err == nil {
				t.Errorf("store configured: %v: the recovered member serves next to the old grid: %+v", configured,
					alone.Member("m1").Status().Anchor)
			}
			if _, err := g.Member("m2").CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
				t.Errorf("the old grid: %v", err)
			}
			if !configured {
				return
			}
			g.Crash("m2", "m3")
			alone.StartMembers("m1") // the old grid's hold on the record has ended
			s := alone.Member("m1").Status()
			if s.Grid != res.Grid || !slices.EqualFunc(s.Recovered.Lost, lost,
				func(m grid.LostMember, id string) bool { return slices.Contains(lost, m.ID) }) {
				t.Errorf("after the old grid has ended: %+v", s.Recovered)
			}
		})
	}
}

// TestRecoveryBeginsAboveTheWallClock: a directory whose member stopped an hour before the others
// has an old ceiling; the others may have granted up to the present, and the window (S1).
func TestRecoveryBeginsAboveTheWallClock(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := loseGrid(t, 3)
		time.Sleep(time.Hour)
		res, err := l.recover([]string{"m1"}, []string{"m2", "m3"})
		if err != nil {
			t.Fatal(err)
		}
		if least := gridtest.Now().Add(15 * time.Second); res.First.Before(least) {
			t.Errorf("its IDs begin at %v, and the lost members can have granted up to %v", res.First, least)
		}
	})
}

// TestRecoveryRefusesTheLogOfAnotherMember: the logs of two directories were exchanged by hand.
func TestRecoveryRefusesTheLogOfAnotherMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := loseGrid(t, 3)
		one, two := filepath.Join(l.dirs["m1"], "raft.db"), filepath.Join(l.dirs["m2"], "raft.db")
		aside := filepath.Join(t.TempDir(), "raft.db")
		if err := errors.Join(os.Rename(one, aside), os.Rename(two, one), os.Rename(aside, two)); err != nil {
			t.Fatal(err)
		}
		for name, lost := range map[string][]string{"m1": {"m2", "m3"}, "m2": {"m1", "m3"}} {
			if _, err := l.recover([]string{name}, lost); !errors.Is(err, sequencer.ErrInvalidConfig) ||
				!strings.Contains(err.Error(), "is not this member's log") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
