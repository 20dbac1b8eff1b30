package grid_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// cutLog has a member's log begin with a snapshot that was taken just now.
func cutLog(t *testing.T, m *grid.Member) {
	t.Helper()
	conf := m.Raft().ReloadableConfig()
	conf.SnapshotInterval, conf.SnapshotThreshold, conf.TrailingLogs = time.Hour, 1<<20, 0
	if err := m.Raft().ReloadConfig(conf); err != nil {
		t.Fatal(err)
	}
	if err := m.Raft().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
}

// TestContinuesFromASnapshot: a grid whose log begins with a snapshot is restarted under
// clocks that were set back. It begins at the ceiling in the snapshot, which is
// far above the next raise.
func TestContinuesFromASnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		floor := gridtest.Now().Add(time.Hour)
		g := gridtest.Start(t, gridtest.Config{Members: 1, Durable: true,
			Change: func(_ string, c *grid.Config) { c.Floor = floor }})
		if _, err := g.Client("c").CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		cutLog(t, g.Member("m1"))
		time.Sleep(2 * time.Second) // until there is an entry again: the next raise
		if first, err := g.Member("m1").Disk().FirstIndex(); err != nil || first < 20 {
			t.Fatalf("the log was not cut: it begins at %d, error %v", first, err)
		}
		before := g.Member("m1").Status()
		g.Crash("m1")
		g.StepClock("m1", -time.Hour)
		g.StartMembers("m1")
		after := g.Member("m1").Status()
		if after.Ceiling.Before(before.Ceiling) || after.Grid != before.Grid || after.Version <= before.Version {
			t.Errorf("ceiling %v, version %d of grid %s; before %v, %d of %s",
				after.Ceiling, after.Version, after.Grid, before.Ceiling, before.Version, before.Grid)
		}
		for _, p := range after.Partitions {
			if p.Floor.Before(before.Ceiling) {
				t.Fatalf("partition %d begins at %v, and grants were made up to %v", p.ID, p.Floor, before.Ceiling)
			}
		}
	})
}

// TestSnapshotsGone: a log that begins with a snapshot is of no use without it, and a
// start says so; Raft would end the process.
func TestSnapshotsGone(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]func(dir string) error{
		"snapshots": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "snapshots")) },
		"the state of each": func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "snapshots", "*", "snapshots", "*", "state.bin"))
			for _, f := range files {
				err = os.WriteFile(f, []byte("garbage"), 0o600)
			}
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			cfg := alone(t)
			m, err := grid.Start(testContext(t), cfg)
			if err != nil {
				t.Fatal(err)
			}
			serves(t, m)
			cutLog(t, m)
			_ = m.Close()
			if err := lose(cfg.DataDir); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				mustNotStart(t, cfg, filepath.Join(cfg.DataDir, "snapshots"), "empty directory")
			}
		})
	}
}

// TestSnapshotOfAnEmptyLogGone: a snapshot that a server was sent may be all that it
// has acknowledged; without it the log is not merely empty.
func TestSnapshotOfAnEmptyLogGone(t *testing.T) {
	for what, lost := range map[string]bool{"there": false, "gone": true} {
		dir := t.TempDir()
		if err := grid.SnapshotOf(dir, 3000, lost); err != nil {
			t.Fatal(err)
		}
		if err := grid.OpenDataDir(dir); (err != nil) != lost ||
			lost && !strings.Contains(err.Error(), "first 3000 entries") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestDamagedLog: no damage of the log's file ends the process, or leaves it locked.
func TestDamagedLog(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	cfg := alone(t)
	m, err := grid.Start(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	serves(t, m)
	_ = m.Close()
	path := filepath.Join(cfg.DataDir, "raft.db")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for page := 2 * 4096; page < min(len(good), 8*4096); page += 4096 { // bbolt checks the first two
		bad := append([]byte(nil), good...)
		clear(bad[page : page+4096])
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := grid.Start(testContext(t), cfg)
		if err == nil {
			_ = m.Close() // a page that is free
			continue
		}
		if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), cfg.DataDir) {
			t.Errorf("page %d: %v", page/4096, err)
		}
		damaged++
	}
	if damaged < 2 {
		t.Errorf("%d pages were found damaged", damaged)
	}
	if err := os.WriteFile(path, good[:16*1024], 0o600); err != nil {
		t.Fatal(err)
	}
	mustNotStart(t, cfg, cfg.DataDir, "damaged")
}
