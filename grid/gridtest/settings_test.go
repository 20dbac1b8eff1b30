package gridtest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// setSettings changes settings at a member.
func setSettings(t *testing.T, g *gridtest.Grid, member, body string) wire.SettingsResponse {
	t.Helper()
	return answerAt[wire.SettingsResponse](t, g, member, http.MethodPost, wire.PathSettings, body)
}

// hasCopies waits until every partition has exactly so many backups in sync, or one at each
// other member.
func hasCopies(t *testing.T, g *gridtest.Grid, member string, copies int) {
	t.Helper()
	eventually(t, time.Minute, "the copies", func() bool {
		s := g.Member(member).Status()
		for _, p := range s.Partitions {
			if len(p.InSync) != copies+1 {
				return false
			}
		}
		return s.Copies == copies && s.Settled && len(s.Partitions) > 0
	})
}

// TestSettingsSetUnderLoad: any member changes the settings of a running grid. The leader
// moves the copies, and callers of Next notice nothing, also when members are killed later.
func TestSettingsSetUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 4, Durable: true,
			Change: func(_ string, c *grid.Config) { c.Partitions = 16 }})
		ids := newChecker(t)
		load := ids.load(10 * time.Millisecond)
		orders := create(t, g.Client("client"), "orders", 128)
		load.run("orders", orders)
		owner := g.OwnerOf("orders")
		others := slices.DeleteFunc(g.Running(), func(name string) bool { return name == owner || name == g.Leader() })
		follower, other := others[0], others[1]

		if before := setSettings(t, g, follower, `{}`); before.Backups != 1 || before.Window != 15_000 ||
			before.Voters != 3 || before.Partitions != 16 || before.Name != "snowgrid" {
			t.Errorf("settings %+v", before)
		}
		for _, backups := range []string{"2", "0", "2"} {
			if got := setSettings(t, g, follower, `{"backups":`+backups+`}`); got.Backups != int(backups[0]-'0') {
				t.Fatalf("backups %s: %+v", backups, got)
			}
			hasCopies(t, g, follower, int(backups[0]-'0'))
		}
		if got := setSettings(t, g, follower, `{"window_ms":40000}`); got.Window != 40_000 {
			t.Fatalf("window: %+v", got)
		}
		eventually(t, time.Minute, "a ceiling of the larger window", func() bool {
			s := g.Member(follower).Status()
			return s.Ceiling.Sub(s.ClusterTime) > 30*time.Second
		})
		for body, want := range map[string]string{
			`{"window_ms":15000}`: "only grows, and it is 40s",
			`{"backups":-1}`:      "give 0 for none, or 1 to 32767",
			`{"voters":4}`:        "give 1, 3, 5 or 7",
		} {
			if status, answer := request(t, g, follower, http.MethodPost, "localhost:7948", wire.PathSettings,
				body); status < 400 || !strings.Contains(answer, want) {
				t.Errorf("%s: %d %s, want %s", body, status, answer, want)
			}
		}

		// Two members are killed, one after the other has been replaced.
		g.Crash(owner)
		time.Sleep(30 * time.Second)
		hasCopies(t, g, follower, 2)
		g.Crash(other)
		time.Sleep(time.Minute)
		load.stop()
		if ids.count() < 1000 || g.Member(follower).Status().Settings.Backups != 2 {
			t.Errorf("%d IDs, status %+v", ids.count(), g.Member(follower).Status().Settings)
		}
		if longest := ids.wait("orders"); longest > time.Second {
			t.Errorf("a caller waited for %v", longest)
		}
	})
}

// TestSettingsAfterRestart: a member that states another value than the grid's is refused,
// with the command that changes the grid; after the command it starts. The changed values
// outlast a restart of all members.
func TestSettingsAfterRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stated := 0
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true,
			Change: func(_ string, c *grid.Config) { c.Partitions, c.Backups = 16, stated }})
		stated = 2
		g.Leave("m3")
		err := g.TryMember(t.Context(), "m3")
		want(t, "start with another value", err, sequencer.ErrInvalidConfig)
		if !strings.Contains(err.Error(), "backups is 1 in the grid and 2 here") ||
			!strings.Contains(err.Error(), "`snowgrid settings set backups=2`") {
			t.Errorf("error %v", err)
		}
		setSettings(t, g, "m1", `{"backups":2}`)
		err = g.TryMember(t.Context(), "m3")
		want(t, "start with a directory of before the change", err, sequencer.ErrInvalidConfig)
		if !strings.Contains(err.Error(),
			"if it was changed while this member was down, omit the setting for one start") {
			t.Errorf("error %v", err)
		}
		stated = 0
		g.StartMembers("m3")
		hasCopies(t, g, "m3", 2)
		stated = 2
		g.Leave("m3")
		g.StartMembers("m3")
		hasCopies(t, g, "m3", 2)
		setSettings(t, g, "m3", `{"window_ms":20000}`)
		g.Crash(g.Running()...)
		g.StartMembers("m1", "m2", "m3")
		if s := g.Member("m2").Status().Settings; s.Backups != 2 || s.Window != 20_000 {
			t.Errorf("after the restart: %+v", s)
		}
	})
}

// TestLargerWindowKeepsLogicalNodes: holders renew less often in a larger window. The owners that served before the
// change count them as silent no earlier.
func TestLargerWindowKeepsLogicalNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		s, holder := newGenerators(t, g), g.Client("holder")
		_, err := create(t, holder, "orders", 128).Next(t.Context())
		ok(t, "next", err)
		const window = 5 * time.Minute
		setSettings(t, g, "m1", fmt.Sprintf(`{"window_ms":%d}`, window.Milliseconds()))
		for since := time.Now(); time.Since(since) < 2*window; time.Sleep(5 * time.Second) {
			if h := s.holders("orders").Holders; len(h) != 1 || h[0].Holder == "" {
				t.Fatalf("%v after the change the holders are %+v", time.Since(since), h)
			}
		}
		g.Network.Pause("holder")
		time.Sleep(window + time.Second)
		if h := s.holders("orders").Holders; len(h) != 0 {
			t.Errorf("a window after the holder was paused: %+v", h)
		}
	})
}

// TestLargerWindowRaisesTheCeiling: the leader raises the ceiling immediately, and not when the next raise in the old
// window is due: until then the members of a grid with an anchor are not ready.
func TestLargerWindowRaisesTheCeiling(t *testing.T) {
	t.Parallel()
	for name, anchored := range map[string]store.Store{"disks": nil, "anchor": newAnchorStore()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: anchored == nil,
					Change: func(_ string, c *grid.Config) { c.Anchor = anchored }})
				for _, window := range []time.Duration{20 * time.Minute, time.Hour} {
					time.Sleep(time.Minute + time.Second) // a raise in the window before was less than its tenth ago
					setSettings(t, g, "m1", fmt.Sprintf(`{"window_ms":%d}`, window.Milliseconds()))
					eventually(t, time.Second, fmt.Sprintf("every member is ready in a window of %v", window), func() bool {
						return !slices.ContainsFunc(g.Running(), func(member string) bool {
							s := g.Member(member).Status()
							return !s.Ready || s.Ceiling.Sub(s.ClusterTime) < window*9/10
						})
					})
				}
			})
		})
	}
}

// TestWindowWithoutDisksIsConfirmed: the next life of a memory-only grid knows the window
// from its configuration alone.
func TestWindowWithoutDisksIsConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) { c.Partitions = 16 }})
		status, answer := request(t, g, "m2", http.MethodPost, "localhost:7948", wire.PathSettings, `{"window_ms":30000}`)
		if status != http.StatusPreconditionRequired ||
			!strings.Contains(answer, "Put window=30s into the configuration of every member") {
			t.Errorf("%d %s", status, answer)
		}
		if got := setSettings(t, g, "m2", `{"window_ms":30000,"window_stated":true}`); got.Window != 30_000 {
			t.Errorf("%+v", got)
		}
	})
}
