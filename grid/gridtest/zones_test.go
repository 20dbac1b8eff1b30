package gridtest_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// votersOf returns the names of the members that vote, by the status of one.
func votersOf(g *gridtest.Grid, by string) (out []string) {
	for _, m := range g.Member(by).Status().Members {
		if m.Voter {
			out = append(out, nameOf(g, m.Incarnation))
		}
	}
	slices.Sort(out)
	return out
}

// awaitVoters waits until there are as many voters.
func awaitVoters(t *testing.T, g *gridtest.Grid, want int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		got := votersOf(g, g.Running()[0])
		if len(got) == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v vote, want %d", got, want)
		}
	}
}

// losses returns the terms of the last losses of all partitions.
func losses(g *gridtest.Grid, by string) (out []uint64) {
	for _, p := range g.Member(by).Status().Partitions {
		out = append(out, p.LostTerm)
	}
	return out
}

// crashTogether crashes members at the same moment, or has them fall silent.
func (c *crowd) crashTogether(silent bool, names ...string) {
	c.gone(names...)
	for _, name := range names {
		if silent {
			c.paused = append(c.paused, name)
			c.g.Network.Pause(name)
		} else {
			c.g.Crash(name)
		}
	}
}

// The cases with disks and with silent ends, and more stops, are in a long run:
//
//	go test ./grid/gridtest -run 'TwoOfFive|ZoneOfThree|StopOfAllFive' -kills 2

// TestTwoOfFiveVoters: of five voters two crash at the same time, the leader and an owner among them,
// with connections refused or in silence, with disks and without. No holder waits, and a
// member more votes soon. Backups is unset: five voters give two.
func TestTwoOfFiveVoters(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ durable, silent bool }{
		"memory, refused": {false, false}, "memory, silent": {false, true}, "disks, refused": {true, false},
	} {
		if *kills < 2 && (c.durable || c.silent) {
			continue // in a long run
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				crowd := newCrowd(t, 5, func(cfg *grid.Config) {
					cfg.Voters = 5
					if !c.durable {
						cfg.DataDir, cfg.FirstLife = "", true
					}
				}).use(2, several(4)...)
				g := crowd.g
				awaitVoters(t, g, 5)
				leader := g.Leader()
				second := g.OwnerOf(crowd.names[0])
				if second == leader {
					second = other(g, leader)
				}
				before := losses(g, leader)
				crowd.crashTogether(c.silent, leader, second)
				stays := other(g, leader, second)
				took := crowd.attachTime()
				time.Sleep(20 * time.Second)
				crowd.calm("after two crashes")
				crowd.kept("after two crashes")
				if after := losses(g, stays); !slices.Equal(before, after) {
					t.Errorf("partitions were lost: %v, before %v", after, before)
				}
				if s := g.Member(stays).Status(); s.Leader == "" || s.Settings.Voters != 5 || s.Settings.Backups != 2 {
					t.Errorf("leader %q, settings %+v", s.Leader, s.Settings)
				}
				crowd.load.stop()
				t.Logf("attach after %v; %d IDs", took, crowd.ids.count())
			})
		})
	}
}

// TestZoneOfThree: members without disks in three zones, with one backup; a zone ends at
// once. The copies of each partition and the voters are in different zones, so nothing is
// lost, neither definitions nor tables, and no holder waits.
func TestZoneOfThree(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true}[:min(*kills, 2)] {
		synctest.Test(t, func(t *testing.T) {
			zones := map[string]string{"m1": "a", "m2": "a", "m3": "b", "m4": "b", "m5": "c", "m6": "c"}
			crowd := newCrowd(t, 6, func(cfg *grid.Config) {
				cfg.Voters, cfg.Backups, cfg.DataDir, cfg.FirstLife = 5, 1, "", true
				cfg.Zone = zones[cfg.MemberName]
			}).use(2, several(4)...)
			g := crowd.g
			awaitFull(t, g, time.Minute)
			unused := create(t, g.Client("c9"), "unused", 0)
			destroyed := create(t, g.Client("c9"), "destroyed", 0)
			ok(t, "destroy", destroyed.Destroy(t.Context()))
			s := g.Member("m1").Status()
			if s.OneZone != 0 || len(s.Zones) != 3 {
				t.Errorf("%d partitions in one zone of %+v", s.OneZone, s.Zones)
			}
			for _, z := range s.Zones {
				if z.Members != 2 || z.Voters < 1 || z.Voters > 2 {
					t.Errorf("zone %+v", z)
				}
			}
			before := losses(g, "m1")
			zone := zones[g.Leader()]
			var gone []string
			for _, name := range g.Running() {
				if zones[name] == zone {
					gone = append(gone, name)
				}
			}
			crowd.crashTogether(silent, gone...)
			stays := other(g, gone...)
			time.Sleep(20 * time.Second)
			crowd.calm("after the end of a zone")
			crowd.kept("after the end of a zone")
			if after := losses(g, stays); !slices.Equal(before, after) {
				t.Errorf("partitions were lost: %v, before %v", after, before)
			}
			again, err := g.Client("c8").OpenSequencer(within(t, 30*time.Second), "unused")
			ok(t, "open", err)
			if again.Definition() != unused.Definition() {
				t.Errorf("%+v became %+v", unused.Definition(), again.Definition())
			}
			if _, err := g.Client("c8").OpenSequencer(within(t, 30*time.Second), "destroyed"); err == nil {
				t.Error("a destroyed sequencer is back")
			}
			crowd.load.stop()
		})
	}
}

// TestMembersRemove: a member that runs is taken out by an operator, leaves with all its
// tables handed over, and does not come back by itself; the vote of one that has crashed
// with its disk is given up; and a removal that would cost the majority is refused.
func TestMembersRemove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		crowd := newCrowd(t, 4, nil).use(2, several(3)...)
		g := crowd.g
		awaitFull(t, g, time.Minute)
		remove := func(at string, id roster.MemberID) (out wire.RemoveResponse, err error) {
			err = callMember(t, g, at, wire.PathRemove, wire.RemoveRequest{Member: id}, &out)
			return out, err
		}
		idOf := func(name string) roster.MemberID {
			return roster.Incarnation(g.Member(name).Status().Answering).Member()
		}
		refused := func(what string, err error, word string) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v, want an error with %q", what, err, word)
			}
		}
		leader := g.Leader()
		_, err := remove("m1", "orders")
		refused("no member ID", err, "is not a member ID")
		_, err = remove("m1", "00000000000000ff")
		refused("a stranger", err, "is not in the grid")

		gone := other(g, leader) // it is asked by way of itself
		dismissed := g.Member(gone).Dismissed()
		id := idOf(gone)
		crowd.gone(gone)
		out, err := remove(gone, id)
		ok(t, "remove", err)
		if out.Member != id || out.Leaving.Member() != id {
			t.Errorf("%+v", out)
		}
		select {
		case <-dismissed:
		default:
			t.Error("the member has not heard of it")
		}
		awaitMembers(t, g, leader, 3)
		time.Sleep(10 * time.Second)
		awaitMembers(t, g, leader, 3) // it does not join again
		g.Crash(gone)
		crowd.calm("after the removal")
		crowd.kept("after the removal")

		dead := other(g, leader)
		id = idOf(dead)
		crowd.gone(dead)
		g.Crash(dead)
		time.Sleep(15 * time.Second)
		if absent := g.Member(leader).Status().AbsentVoters; !slices.Equal(absent, []string{string(id)}) {
			t.Fatalf("absent voters %v, want %s", absent, id)
		}
		last := other(g, leader)
		_, err = remove(leader, idOf(last))
		refused("while the vote of another is absent", err, "less than a majority")
		out, err = remove(last, id)
		ok(t, "remove a dead one", err)
		if out.Leaving != "" {
			t.Errorf("%+v", out)
		}
		awaitVoters(t, g, 1)
		if absent := g.Member(leader).Status().AbsentVoters; len(absent) > 0 {
			t.Errorf("absent voters %v", absent)
		}
		// Its vote is given up, so the leader alone continues when the last other one ends.
		g.Crash(other(g, g.Leader()))
		time.Sleep(20 * time.Second)
		_, err = crowd.probe.Next(within(t, time.Minute))
		refused("the probe is detached", err, "detached")
		ok(t, "attach", crowd.probe.AttachLogicalNode(within(t, time.Minute)))
		crowd.load.stop()
	})
}

// awaitMembers waits until the roster has as many members.
func awaitMembers(t *testing.T, g *gridtest.Grid, by string, want int) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for len(g.Member(by).Status().Members) != want {
		time.Sleep(100 * time.Millisecond)
		if time.Now().After(end) {
			t.Fatalf("%d members, want %d", len(g.Member(by).Status().Members), want)
		}
	}
}

// TestStopOfAllFive: five durable voters are stopped in order within some seconds, and two
// disks are lost. The other three start the grid again, whichever was stopped last.
func TestStopOfAllFive(t *testing.T) {
	t.Parallel()
	all := []string{"m1", "m2", "m3", "m4", "m5"}
	for apart, rest := range map[time.Duration][]string{0: {"m1", "m2", "m3"}, time.Second: {"m1", "m2", "m5"},
		2 * time.Second: {"m3", "m4", "m5"}} {
		if *kills < 2 && apart != time.Second {
			continue // in a long run
		}
		t.Run(fmt.Sprintf("%v apart, %v are left", apart, rest), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 5, Durable: true,
					Change: func(_ string, c *grid.Config) { c.Voters, c.Partitions = 5, *somePartitions }})
				ids := newChecker(t)
				orders := create(t, g.Client("c"), "orders", 0)
				ids.caller("c").must(orders, 100)
				awaitVoters(t, g, 5)
				time.Sleep(10 * time.Second)
				var stops sync.WaitGroup
				for _, name := range all {
					stops.Go(func() { g.Leave(name) })
					time.Sleep(apart)
				}
				stops.Wait()
				g.StartMembers(rest...)
				ids.caller("c").must(orders, 100)
				ids.caller("new").must(create(t, g.Client("new"), "orders", 0), 100)
			})
		})
	}
}

// TestThreeOfFiveStop: three of five durable voters are stopped one after the other; the
// other two continue, and one of them votes alone in the end.
func TestThreeOfFiveStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		crowd := newCrowd(t, 5, func(c *grid.Config) { c.Voters = 5 }).use(1, several(2)...)
		g := crowd.g
		awaitVoters(t, g, 5)
		for _, name := range []string{"m1", "m2", "m3"} {
			crowd.gone(name)
			g.Leave(name)
		}
		awaitMembers(t, g, "m5", 2)
		awaitVoters(t, g, 1)
		time.Sleep(30 * time.Second)
		crowd.calm("after three have stopped")
		crowd.kept("after three have stopped")
		crowd.load.stop()
	})
}
