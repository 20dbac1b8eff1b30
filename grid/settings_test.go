package grid_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestRestartWithOtherSettings: a member that starts from its data directory is
// refused immediately if it states another setting than its grid has, whether others run
// or not. The error names both values and says to drop the setting; without it, or
// with the grid's value, the member starts.
func TestRestartWithOtherSettings(t *testing.T) {
	t.Parallel()
	agreed := func(c *grid.Config) { c.Name, c.Backups, c.Partitions, c.Window = "a", 1, 31, 10*time.Second }
	unset := func(c *grid.Config) { c.Name, c.Backups, c.Partitions, c.Window = "", 0, 0, 0 }
	for name, members := range map[string]int{"alone": 1, "alone, from a snapshot": 1, "of three, the others run": 3,
		"of three, alone": -3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				state := agreed
				g := gridtest.Start(t, gridtest.Config{Members: max(members, -members), Durable: true,
					Change: func(_ string, c *grid.Config) { state(c) }})
				time.Sleep(5 * time.Second)
				if strings.Contains(name, "snapshot") {
					dropLog(t, g.Member("m1"))
				}
				g.Crash("m1")
				if members < 0 {
					g.Crash("m2", "m3")
				}
				for what, c := range map[string]struct {
					change func(c *grid.Config)
					want   string
				}{
					"backups": {func(c *grid.Config) { c.Backups = 3 }, "backups is 1 in the grid and 3 here; drop the setting"},
					"no backups": {func(c *grid.Config) { c.Backups = grid.NoBackups },
						"backups is 1 in the grid and 0 (none) here; drop the setting"},
					"partitions": {func(c *grid.Config) { c.Partitions = 17 },
						"partitions is 31 in the grid and 17 here; drop the setting"},
					"window": {func(c *grid.Config) { c.Window = 5 * time.Second },
						"window is 10s in the grid and 5s here; drop the setting"},
					"name": {func(c *grid.Config) { c.Name = "b" }, `name is "a" in the grid and "b" here; drop the setting`},
				} {
					change := c.change
					state = func(c *grid.Config) { unset(c); change(c) }
					began := time.Now()
					err := try(t, g, "m1")
					if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), c.want) {
						t.Errorf("%s: %v, want %q", what, err, c.want)
					}
					if took := time.Since(began); took > time.Second {
						t.Errorf("%s: refused after %v", what, took)
					}
				}
				for what, same := range map[string]func(c *grid.Config){"unset": unset, "as agreed": agreed} {
					state = same
					if members < 0 {
						g.StartMembers("m1", "m2", "m3")
					} else {
						g.StartMembers("m1")
					}
					if s := g.Member("m1").Status(); s.Name != "a" || s.Settings.Partitions != 31 {
						t.Errorf("%s: the member serves grid %q with %d partitions", what, s.Name, s.Settings.Partitions)
					}
					for _, running := range g.Running() {
						if running == "m1" || members < 0 {
							g.Crash(running)
						}
					}
				}
			})
		})
	}
}

// dropLog has a member take a snapshot and forget the log before it.
func dropLog(t *testing.T, m *grid.Member) {
	t.Helper()
	taken := m.Raft().Snapshot()
	if err := taken.Error(); err != nil {
		t.Fatal(err)
	}
	meta, from, err := taken.Open()
	if err != nil {
		t.Fatal(err)
	}
	_ = from.Close()
	if err := m.Disk().DeleteRange(1, meta.Index); err != nil {
		t.Fatal(err)
	}
}

// try starts a member, and says why it does not serve within half a minute.
func try(t *testing.T, g *gridtest.Grid, name string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return g.TryMember(ctx, name)
}
