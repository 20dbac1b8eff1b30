package grid_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestElectionWithSlowDisks: a leader is elected while each write of every Raft log takes half a second, or
// two, and the one after it soon when the disks are fast again. The limits are those of several split votes in
// a row; eight runs took 6 to 10 s, and 25 to 51 s.
func TestElectionWithSlowDisks(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for slow, limit := range map[time.Duration]time.Duration{
		500 * time.Millisecond: 2 * time.Minute, 2 * time.Second: 4 * time.Minute,
	} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
				setDisks(g, slow)
				time.Sleep(10 * time.Second)
				t.Logf("elected after %v", nextLeader(t, g, limit))
				g.StartMembers(slices.DeleteFunc([]string{"m1", "m2", "m3"},
					func(m string) bool { return slices.Contains(g.Running(), m) })...)
				setDisks(g, 0)
				time.Sleep(time.Minute)
				if took := nextLeader(t, g, limit); took > time.Second {
					t.Errorf("elected after %v, a minute after the disks are fast", took)
				}
			})
		})
	}
}

// TestEndWhileADiskHangs: while no write of a member's Raft log returns, a member that needs it names the cause in its
// conditions, Leave ends with its context, and Close after 5 s.
func TestEndWhileADiskHangs(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for members, ends := range map[int]map[string]struct {
		end   func(m *grid.Member) error
		limit time.Duration
	}{
		1: {"Close": {(*grid.Member).Close, 6 * time.Second}},
		3: {
			"Close": {(*grid.Member).Close, 6 * time.Second},
			"Leave": {func(m *grid.Member) error {
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				defer cancel()
				return m.Leave(ctx)
			}, 4 * time.Second},
			"Leave, canceled": {func(m *grid.Member) error {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(2*time.Second, cancel)
				return m.Leave(ctx)
			}, 4 * time.Second},
			"Leave of two": {func(m *grid.Member) error {
				first := make(chan error, 1)
				go func() { first <- m.Leave(context.Background()) }()
				time.Sleep(time.Millisecond)
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				defer cancel()
				err := m.Leave(ctx) // it ends the other one
				return errors.Join(err, <-first)
			}, 5 * time.Second},
		},
	} {
		for name, c := range ends {
			t.Run(fmt.Sprint(name, members), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := gridtest.Start(t, gridtest.Config{Members: members, Durable: true})
					m := g.Member("m1")
					const hang = 90 * time.Second
					m.Disk().SlowWrites(hang)
					time.Sleep(20 * time.Second)
					reason := ""
					for _, c := range m.Conditions() {
						reason += c.Reason
					}
					if members == 1 && m.Ready() || !m.Ready() && !strings.Contains(reason, "a write in data directory") {
						t.Errorf("ready %v, %s", m.Ready(), reason)
					}
					alerts := grid.Alerts(m.Status())
					if !slices.ContainsFunc(alerts, func(a grid.Alert) bool {
						return a.Name == "disk_failed" && strings.Contains(a.Text, "a write in data directory") &&
							strings.Contains(a.Text, "hangs")
					}) {
						t.Errorf("alerts %v", alerts)
					}
					began := time.Now()
					err := c.end(m)
					if took := time.Since(began); took > c.limit || !errors.Is(err, sequencer.ErrUnavailable) ||
						!strings.Contains(err.Error(), "cannot be closed") {
						t.Errorf("it ended after %v: %v", took, err)
					}
					time.Sleep(3 * hang) // the bubble ends with its last goroutine
				})
			})
		}
	}
}

func setDisks(g *gridtest.Grid, slow time.Duration) {
	for _, m := range g.Running() {
		g.Member(m).Disk().SlowWrites(slow)
	}
}

// nextLeader crashes the leader, waits until another member leads and the ceiling rises, and returns how long the
// election took.
func nextLeader(t *testing.T, g *gridtest.Grid, limit time.Duration) time.Duration {
	t.Helper()
	leads := ""
	for leads = g.Leader(); leads == ""; leads = g.Leader() {
		time.Sleep(10 * time.Millisecond)
	}
	g.Crash(leads)
	began, took := time.Now(), time.Duration(0)
	ceiling := g.Member(g.Running()[0]).Status().Ceiling
	for took == 0 || !g.Member(g.Running()[0]).Status().Ceiling.After(ceiling) {
		for _, m := range g.Running() {
			if took == 0 && g.Member(m).Stats().Leads {
				took = time.Since(began)
				ceiling = g.Member(m).Status().Ceiling
			}
		}
		if time.Since(began) > limit {
			t.Fatalf("no leader that raises the ceiling after %v; elected after %v", limit, took)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return took
}
