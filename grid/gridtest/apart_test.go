package gridtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// apartLimit bounds creates, attaches and detaches while two followers do not reach each other.
const apartLimit = 6 * time.Second

// TestFollowersApart: two followers do not reach each other, while the leader and the clients reach both.
// Names whose owner is the one and whose backup is the other are created and detached after a few seconds,
// and later ones at once; settled, status and alerts name both. After the heal everything is as before.
func TestFollowersApart(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, c := range []struct {
		members, backups int
		oneWay           bool
	}{{3, 2, true}, {5, 1, false}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { keepApart(t, c.members, c.backups, c.oneWay) })
		})
	}
}

func keepApart(t *testing.T, members, backups int, oneWay bool) {
	g := gridtest.Start(t, gridtest.Config{Members: members, Durable: true,
		Change: func(_ string, c *grid.Config) { c.Backups = backups }})
	c := g.Client("web")
	_ = create(t, c, "first", 0)
	time.Sleep(20 * time.Second) // its IDs have begun
	l := g.Leader()
	a, b, between := betweenFollowers(t, g, l, 20)
	old := create(t, c, between[0], 0)
	before := g.Member(l).Status().Partitions
	if oneWay {
		g.Network.CutOneWay(a, b)
	} else {
		g.Network.Cut(a, b)
	}
	for i, name := range between[1:] {
		began := time.Now()
		s, err := c.CreateSequencer(within(t, apartLimit), name, sequencer.Config{})
		ok(t, "create "+name, err)
		_, err = s.Next(within(t, time.Second))
		ok(t, "next of "+name, err)
		took := time.Since(began)
		if i == 0 {
			ok(t, "detach", old.DetachLogicalNode(within(t, apartLimit)))
			t.Logf("the first create took %v", took)
		} else if i > 3 && took > time.Second {
			t.Errorf("create %d took %v", i, took)
		}
	}
	time.Sleep(5 * time.Second)
	shown := 0
	for _, m := range g.Running() {
		s := g.Member(m).Status()
		if !g.Member(m).Ready() {
			t.Errorf("%s is not ready: %s", m, s.NotReady)
		}
		if strings.Contains(s.NotSettled, a+" (") && strings.Contains(s.NotSettled, b+" (") {
			shown++
		} else if m == l {
			t.Errorf("%s, which leads, says of the two: settled %v: %s", m, s.Settled, s.NotSettled)
		}
		if want := min(backups, members-1); s.Copies != want {
			t.Errorf("%s: %d copies, want %d", m, s.Copies, want)
		}
	}
	if shown < 2 {
		t.Errorf("%d members say that they are apart", shown)
	}
	if alerts := grid.Alerts(statusOf(t, g, l)); !slices.ContainsFunc(alerts, func(x grid.Alert) bool {
		return x.Name == "members_apart" && strings.Contains(x.Text, a+" (") && strings.Contains(x.Text, b+" (")
	}) {
		t.Errorf("alerts %+v", alerts)
	}
	g.Network.HealAll()
	eventually(t, time.Minute, "it is as before", func() bool {
		s := g.Member(l).Status()
		return s.Settled && slices.EqualFunc(s.Partitions, before, func(a, b grid.PartitionInfo) bool {
			return a.Owner == b.Owner && len(a.InSync) == len(b.InSync)
		})
	})
}

// betweenFollowers returns two members other than the leader, and n names that one of them owns and of
// which the other has a copy.
func betweenFollowers(t *testing.T, g *gridtest.Grid, leader string, n int) (a, b string, names []string) {
	t.Helper()
	members := map[string]string{}
	for _, name := range g.Running() {
		members[g.Member(name).Status().Answering] = name
	}
	partitions := g.Member(leader).Status().Partitions
	found := map[[2]string][]string{}
	for i := range 10_000 {
		name := fmt.Sprint("name-", i)
		p := partitions[roster.PartitionOf(name, len(partitions))]
		owner := members[p.Owner]
		for _, replica := range p.InSync {
			backup := members[replica]
			if owner == leader || backup == leader || backup == owner {
				continue
			}
			pair := [2]string{min(owner, backup), max(owner, backup)}
			if found[pair] = append(found[pair], name); len(found[pair]) == n {
				return pair[0], pair[1], found[pair]
			}
		}
	}
	t.Fatalf("no two followers have copies of %d of 10,000 names", n)
	return "", "", nil
}
