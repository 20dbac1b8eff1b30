package grid_test

import (
	"fmt"
	"github.com/snowgrid/snowgrid/internal/long"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
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
