package gridtest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestDeposedOwner: an owner that is cut off for a minute is replaced. Neither meanwhile
// nor when it is back does it answer from its old table, and it becomes a
// backup again by itself.
func TestDeposedOwner(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, how := range []string{"paused", "cut off"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, 3, nil)
				owner := c.g.OwnerOf("doomed")
				doomed := create(t, c.g.Client("c0"), "doomed", 0)
				c.use(3, several(3)...)
				made := unused(t, c, owner)
				before := inSync(c.g, owner, owner)

				c.isolate(owner, how == "paused")
				eventually(t, 10*time.Second, "another owns its partitions", func() bool {
					return nameOf(c.g, partitionOf(c.g, other(c.g, owner), "doomed").Owner) != owner
				})
				ok(t, "destroy", doomed.Destroy(within(t, 30*time.Second)))
				fresh := create(t, c.g.Client("fresh"), made, 0)
				answersNobody(t, c, owner, made)
				time.Sleep(45 * time.Second)
				c.reunite(owner)

				stale := 0
				for range 300 { // as soon as it is back, and for three seconds
					stale += staleAnswers(t, c.g.Member(owner), made)
					time.Sleep(10 * time.Millisecond)
				}
				full := awaitFull(t, c.g, 30*time.Second)
				after := inSync(c.g, other(c.g, owner), owner)
				again, err := c.g.Member(owner).OpenSequencer(within(t, 5*time.Second), made)
				ok(t, "open a name created meanwhile", err)
				ok(t, "attach", again.AttachLogicalNode(within(t, 5*time.Second)))
				c.ids.caller("fresh").must(fresh, 10)
				c.ids.caller("again").must(again, 10)
				time.Sleep(10 * time.Second)
				c.load.stop()
				c.calm("at the end")
				c.kept("at the end")
				t.Logf("%s: full %v after it was back and three seconds; in sync in %d partitions, had %d; ready: %v", owner, full,
					after, before, c.g.Member(owner).Ready())
				if stale > 0 || after == 0 || !c.g.Member(owner).Ready() {
					t.Errorf("%d stale answers; in sync in %d partitions, ready: %v", stale, after, c.g.Member(owner).Ready())
				}
			})
		})
	}
}

// unused returns a name that was not created, in a partition of a member.
func unused(t *testing.T, c *crowd, owner string) string {
	for i := range 1000 {
		if name := "made-" + several(i + 1)[i]; c.g.OwnerOf(name) == owner {
			return name
		}
	}
	t.Fatalf("%s owns no partition", owner)
	return ""
}

// isolate stops everything between a member and all others, and leaves its handles
// out of account.
func (c *crowd) isolate(name string, pause bool) {
	c.gone(name)
	c.paused = append(c.paused, name)
	if pause {
		c.g.Network.Pause(name)
		return
	}
	for _, host := range []string{"m1", "m2", "m3", "c0", "c1", "c2", "c3", "probe", "fresh"} {
		if host != name {
			c.g.Network.Cut(name, host)
		}
	}
}

func (c *crowd) reunite(name string) {
	c.paused = nil
	c.g.Network.Resume(name)
	c.g.Network.HealAll()
}

// answersNobody checks that an owner which is cut off does not answer even its own process:
// no backup acknowledges its changes.
func answersNobody(t *testing.T, c *crowd, owner, name string) {
	t.Helper()
	_, err := c.g.Member(owner).CreateSequencer(within(t, 8*time.Second), name, sequencer.Config{})
	want(t, "create at an owner that is alone", err, sequencer.ErrUnavailable, context.DeadlineExceeded)
}

// staleAnswers counts wrong answers of a member: that a destroyed name exists, or that a
// created one does not.
func staleAnswers(t *testing.T, m *grid.Member, made string) (n int) {
	if _, err := m.OpenSequencer(within(t, 5*time.Millisecond), "doomed"); err == nil {
		t.Error("opened a name that was destroyed")
		n++
	}
	if _, err := m.OpenSequencer(within(t, 5*time.Millisecond), made); matches(err, []error{sequencer.ErrNotFound}) {
		t.Errorf("a name that was made is unknown: %v", err)
		n++
	}
	return n
}

// TestMinority: holders on the smaller side of a network partition continue to the end of
// their grants and wait then; after the heal the grid is whole again without an operator.
func TestMinority(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 5, func(cfg *grid.Config) { cfg.Backups = 2 }).use(3, several(4)...)
		voters := map[string]bool{}
		for _, m := range c.g.Member("m1").Status().Members {
			voters[nameOf(c.g, m.Incarnation)] = m.Voter
		}
		few := c.g.Running()
		slices.SortStableFunc(few, func(a, b string) int { return count(voters[a]) - count(voters[b]) })
		few, many := []string{few[0], few[4]}, few[1:4] // one voter of three among the few
		for _, a := range append(slices.Clone(few), "c1") {
			for _, b := range append(slices.Clone(many), "c2", "c3", "probe") {
				c.g.Network.Cut(a, b)
			}
		}
		cutOff := slices.Concat(few, []string{"c1"})
		time.Sleep(9 * time.Second)
		c.calm("nine seconds after the cut")
		time.Sleep(25 * time.Second)
		waiting, most := 0, 0
		for _, h := range c.holders {
			if slices.Contains(cutOff, h.host) {
				waiting, most = waiting+count(h.s.Stats().WaitingNow > 0), most+1
			}
		}
		c.g.Network.HealAll()
		full := awaitFull(t, c.g, time.Minute)
		time.Sleep(5 * time.Second)
		for _, h := range c.holders {
			if h.s.Stats().WaitingNow > 0 {
				t.Errorf("%s of %s waits still", h.s.Name(), h.host)
			}
		}
		c.load.stop()
		c.kept("at the end")
		_, longest := c.waited()
		c.gone(cutOff...)
		c.calm("those on the larger side")
		t.Logf("%v cut off: %d of %d holders waited there, %v at the longest; full %v after the heal; %d IDs", few, waiting,
			most, longest, full, c.ids.count())
		if waiting != most {
			t.Errorf("%d of %d holders wait behind the cut", waiting, most)
		}
	})
}

// heldByOthers returns a name of which the leader has no replica.
func heldByOthers(t *testing.T, c *crowd) string {
	leader := c.g.Leader()
	for i := range 1000 {
		name := fmt.Sprint("other-", i)
		if c.g.OwnerOf(name) != leader && backupOf(c.g, "m1", name) != leader {
			return name
		}
	}
	t.Fatal("the leader has all replicas")
	return ""
}

// TestOneWayBetweenReplicas: the messages of an owner to its backup, or the answers, are
// lost. Attaches wait without failing, and complete by themselves.
func TestOneWayBetweenReplicas(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, way := range []string{"to the backup", "to the owner"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, 4, nil)
				name := heldByOthers(t, c)
				c.use(3, append([]string{name}, several(3)...)...)
				owner := c.g.OwnerOf(name)
				second := backupOf(c.g, owner, name)
				from, to := owner, second
				if way == "to the owner" {
					from, to = second, owner
				}
				c.g.Network.CutOneWay(from, to)
				began := time.Now()
				attached := make(chan time.Duration, 1)
				go func() {
					ok(t, "attach", c.probe.AttachLogicalNode(within(t, time.Minute)))
					attached <- time.Since(began)
				}()
				time.Sleep(20 * time.Second)
				c.g.Network.HealAll()
				healed := time.Since(began)
				took := <-attached
				full := awaitFull(t, c.g, 30*time.Second)
				time.Sleep(5 * time.Second)
				c.load.stop()
				c.kept("at the end")
				n, longest := c.waited()
				t.Logf("attached %v after the cut, which lasted %v; full %v after the heal; %d waits for a grant, %v at the "+
					"longest", took, healed, full, n, longest)
				if took > healed+attachMax {
					t.Errorf("attached only %v after the heal", took-healed)
				}
				c.gone(from, to) // their own handles cannot renew at the other
				c.calm("at the end")
			})
		})
	}
}

// TestCutFromTheLeader: the leader does not reach an owner that all others reach,
// so that owner does not hear of the ceiling. No holder waits for that, not even one all of
// whose names the owner has, so that no other member tells it of a newer roster.
func TestCutFromTheLeader(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for _, way := range []string{"both ways", "one way"} {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the owner of all: %v", way, all), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { cutFromTheLeader(t, way, all) })
			})
		}
	}
}

func cutFromTheLeader(t *testing.T, way string, all bool) {
	c := newCrowd(t, 4, nil)
	name := heldByOthers(t, c)
	owner := c.g.OwnerOf(name)
	names := append([]string{name}, several(3)...)
	if all {
		names = []string{name, unused(t, c, owner)}
	}
	c.use(3, names...)
	c.gone(owner, c.g.Leader()) // their own handles cannot reach the other's partitions
	cut := c.g.Network.Cut
	if way == "one way" {
		cut = c.g.Network.CutOneWay
	}
	cut(c.g.Leader(), owner)
	time.Sleep(40 * time.Second)
	c.calm("under the cut")
	c.g.Network.HealAll()
	full := awaitFull(t, c.g, 30*time.Second)
	time.Sleep(5 * time.Second)
	c.load.stop()
	c.calm("at the end")
	c.kept("at the end")
	n, longest := c.waited()
	t.Logf("%d waits, %v at the longest; full %v after the heal", n, longest, full)
}
