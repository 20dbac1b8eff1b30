package gridtest_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSilentMemberIsReplacedWhenAwaited: a member of a grid at rest that is paused, an owner or the
// leader too, is replaced soon after somebody waits for it, and not only when heartbeats are missed.
func TestSilentMemberIsReplacedWhenAwaited(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for what, limit := range map[string]time.Duration{"an owner": time.Second, "the leader": 1750 * time.Millisecond} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for i := range 5 {
					g := gridtest.Start(t, gridtest.Config{Members: 3})
					c := g.Client("c")
					time.Sleep(time.Minute + time.Duration(i)*137*time.Millisecond) // the leader rests
					name := nameOfOwner(t, g, what == "the leader")
					owner := g.OwnerOf(name)
					g.Network.Pause(owner)
					began := time.Now()
					_, err := c.CreateSequencer(within(t, 10*time.Second), name, sequencer.Config{})
					if took := time.Since(began); err != nil || took > limit {
						t.Errorf("created after %v at another owner, want %v: %v", took, limit, err)
					} else {
						t.Logf("created after %v", took)
					}
					g.Network.Resume(owner)
					for _, m := range g.Running() {
						ok(t, "close", g.Member(m).Close())
					}
				}
			})
		})
	}
}

// nameOfOwner returns a name whose owner leads, or one whose owner does not.
func nameOfOwner(t *testing.T, g *gridtest.Grid, leads bool) string {
	t.Helper()
	for i := range 1000 {
		if name := fmt.Sprint("name-", i); (g.OwnerOf(name) == g.Leader()) == leads {
			return name
		}
	}
	t.Fatal("no such owner")
	return ""
}

// TestSignsArePassedOnToTheLeader: the leader hears of a member that somebody awaits, whichever member
// was asked, and not more often than is of use.
func TestSignsArePassedOnToTheLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(time.Minute)
		leads := g.Leader()
		owner := other(g, leads)
		asked := other(g, leads, owner)
		p := slices.IndexFunc(g.Member(leads).Status().Partitions,
			func(p grid.PartitionInfo) bool { return nameOf(g, p.Owner) == owner })
		heard := func() (n uint64) {
			for _, c := range g.Member(leads).Stats().Requests.ByCode {
				if c.Path == wire.PathDirectory {
					n += c.Count
				}
			}
			return n
		}
		h := httpClient(g)
		defer h.Close()
		ask := func(at string) {
			in := wire.DirectoryRequest{Partition: p, NotAt: g.Member(owner).Addrs().API, Wait: 10}
			ok(t, "wait", h.Call(within(t, time.Second), at+":7948", wire.PathDirectory, in, &wire.DirectoryResponse{}))
		}
		before := heard()
		for range 10 {
			ask(asked)
		}
		if n := heard() - before; n != 1 {
			t.Errorf("the leader heard %d times in %v", n, 10*10*time.Millisecond)
		}
		time.Sleep(time.Second)
		ask(asked)
		if n := heard() - before; n != 2 {
			t.Errorf("the leader heard %d times in two seconds", n)
		}
	})
}

// TestCreateIsServedByTheNextOwner: a member that passed a create on to an owner that is silent serves
// it as soon as it, or another, is the owner.
func TestCreateIsServedByTheNextOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(time.Minute)
		for i, leads := range []bool{false, true} {
			name := nameOfOwner(t, g, leads)
			owner := g.OwnerOf(name)
			h := httpClient(g)
			g.Network.Pause(owner)
			began := time.Now()
			in := wire.CreateRequest{Name: name, Nodes: 128,
				Attach: &wire.CreateAttach{Holder: "h", ID: attachment.ID{byte(i + 1)}}}
			var out wire.SequencerResponse
			err := roster.ErrWrongOwner
			for errors.Is(err, roster.ErrWrongOwner) { // the next owner may hear of it after the member that was asked
				err = h.Call(within(t, 10*time.Second), other(g, owner)+":7948", wire.PathCreate, in, &out)
			}
			if took := time.Since(began); err != nil || out.Attached == nil || took > 2*time.Second {
				t.Errorf("the owner leads %v: after %v: %v, attached %v", leads, took, err, out.Attached)
			}
			h.Close()
			g.Network.Resume(owner)
			time.Sleep(time.Minute)
		}
	})
}

// httpClient returns a client on a host of its own, with an operator's certificate if the grid is
// secured.
func httpClient(g *gridtest.Grid) *calls.Pool {
	return calls.NewPool(g.Network.Host("operator").Dial, g.Load(security.Admin))
}

// TestProcessThatHasEndedIsRemovedSoon: a member that refuses connections is removed about a second
// later, with and without keys for gossip.
func TestProcessThatHasEndedIsRemovedSoon(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, secured := range []bool{false, true} {
		t.Run(fmt.Sprint("secured ", secured), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 4, Secured: secured})
				time.Sleep(time.Minute)
				for _, gone := range []string{other(g, g.Leader()), g.Leader()} {
					// The leader raises the ceiling, and so calls every member, each 1.5 s.
					leads := g.Member(g.Leader())
					for before := leads.Status().Ceiling; !leads.Status().Ceiling.After(before); {
						time.Sleep(time.Millisecond)
					}
					time.Sleep(100 * time.Millisecond)
					g.Crash(gone)
					left := len(g.Running())
					took := eventually(t, 10*time.Second, "it is out", func() bool {
						return len(g.Member(g.Running()[0]).Status().Members) == left
					})
					if took > 1300*time.Millisecond {
						t.Errorf("%s was removed after %v", gone, took)
					}
					time.Sleep(time.Minute)
				}
			})
		})
	}
}

// TestLeaderThatOneVoterDoesNotReachStays: the voter looks at the leader again and again, and the other
// one hears that.
func TestLeaderThatOneVoterDoesNotReachStays(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(time.Minute)
		leads := g.Leader()
		before := g.Member(leads).Status()
		voter := other(g, leads)
		p := slices.IndexFunc(before.Partitions, func(p grid.PartitionInfo) bool { return nameOf(g, p.Owner) == leads })
		in := wire.DirectoryRequest{Partition: p, NotAt: g.Member(leads).Addrs().API, Wait: 10}
		h := httpClient(g)
		defer h.Close()
		for range 50 {
			g.Network.Cut(leads, voter)
			for range 8 {
				ok(t, "wait", h.Call(within(t, time.Second), voter+":7948", wire.PathDirectory, in, &wire.DirectoryResponse{}))
				time.Sleep(200 * time.Millisecond)
			}
			g.Network.Heal(leads, voter)
			time.Sleep(20 * time.Second) // the leader rests
			if s := g.Member(other(g, leads, voter)).Status(); s.Leader != before.Leader {
				t.Fatalf("another member leads: %q, before %q", s.Leader, before.Leader)
			}
		}
	})
}

// TestSilentLeaderIsReplacedBeforeHoldersWait: with a short window, too. No client waits for the
// leader; its raises of the ceiling are missed.
func TestSilentLeaderIsReplacedBeforeHoldersWait(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for i := range long.Or(3, 8) {
			g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) {
				c.Window, c.Gossip.Interval = 5*time.Second, time.Minute // gossip finds nothing
			}})
			time.Sleep(time.Minute + time.Duration(i)*137*time.Millisecond)
			leads := g.Leader()
			g.Network.Pause(leads)
			began := time.Now()
			took := eventually(t, 10*time.Second, "another leads", func() bool {
				s := g.Member(other(g, leads)).Status()
				return s.Leader != "" && nameOf(g, s.Leader) != leads
			})
			if took > 2250*time.Millisecond {
				t.Errorf("another leads after %v", took)
			}
			t.Logf("after %v", time.Since(began))
			g.Network.Resume(leads)
			for _, m := range g.Running() {
				ok(t, "close", g.Member(m).Close())
			}
		}
	})
}

// TestSlowNetworkIsNoSilence: members whose answers take longer than a probe waits are not replaced, also
// when there are signs: an answer that comes late is one.
func TestSlowNetworkIsNoSilence(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		g.Network.SetDelay(150 * time.Millisecond)
		time.Sleep(time.Minute)
		leads := g.Leader()
		before := g.Member(leads).Status()
		h := httpClient(g)
		defer h.Close()
		for i := range 60 {
			asked := g.Running()[i%3]
			in := wire.DirectoryRequest{Partition: i % len(before.Partitions),
				NotAt: g.Member(nameOf(g, before.Partitions[i%len(before.Partitions)].Owner)).Addrs().API, Wait: 10}
			ok(t, "wait", h.Call(within(t, 2*time.Second), asked+":7948", wire.PathDirectory, in, &wire.DirectoryResponse{}))
			time.Sleep(time.Second)
		}
		if after := g.Member(leads).Status(); after.Leader != before.Leader || after.Version != before.Version {
			t.Errorf("led by %s at version %d, before by %s at %d", after.Leader, after.Version, before.Leader, before.Version)
		}
	})
}

// TestLeaderThatIsFarAwayStays: voters that are near one another and await the leader, whose answers take
// longer than a look waits, all the time and after a rest.
func TestLeaderThatIsFarAwayStays(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		leads := g.Leader()
		g.Network.SetRegion(leads, "far")
		time.Sleep(time.Minute) // the leader rests
		before := g.Member(leads).Status()
		p := slices.IndexFunc(before.Partitions, func(p grid.PartitionInfo) bool { return nameOf(g, p.Owner) == leads })
		in := wire.DirectoryRequest{Partition: p, NotAt: g.Member(leads).Addrs().API, Wait: 10}
		h := httpClient(g)
		defer h.Close()
		rounds := long.Or(200, 400)
		for i := range rounds {
			if i == 20 { // the voters have connections to the leader
				g.Network.SetRegionDelay(150 * time.Millisecond)
			}
			for _, voter := range g.Running() {
				if voter != leads {
					ok(t, "wait", h.Call(within(t, time.Second), voter+":7948", wire.PathDirectory, in, &wire.DirectoryResponse{}))
				}
			}
			time.Sleep(700 * time.Millisecond)
			if i >= rounds-20 {
				time.Sleep(20*time.Second + time.Duration(i)*time.Millisecond)
			}
			if s := g.Member(leads).Status(); s.Leader != before.Leader || s.Version != before.Version {
				t.Fatalf("led by %s at version %d, before by %s at %d", s.Leader, s.Version, before.Leader, before.Version)
			}
		}
	})
}

// TestDoubtEnds: voters near one another that look at a far leader do not have each other look again and
// again.
func TestDoubtEnds(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := &traffic{of: map[string]*hostTraffic{}}
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(name string, c *grid.Config) {
			c.Network = &countedNetwork{c.Network.(*gridtest.Host), sent.host(name)}
		}})
		leads := g.Leader()
		voter := g.Running()[slices.IndexFunc(g.Running(), func(name string) bool { return name != leads })]
		minute := func() int64 {
			time.Sleep(10 * time.Second) // until earlier signs have had their effect
			before := sent.writes(voter)
			time.Sleep(time.Minute)
			return sent.writes(voter) - before
		}
		near := minute()
		g.Network.SetRegion(leads, "far")
		g.Network.SetRegionDelay(150 * time.Millisecond)
		partitions := g.Member(leads).Status().Partitions
		p := slices.IndexFunc(partitions, func(p grid.PartitionInfo) bool { return nameOf(g, p.Owner) == leads })
		in := wire.DirectoryRequest{Partition: p, NotAt: g.Member(leads).Addrs().API, Wait: 10}
		h := httpClient(g)
		defer h.Close()
		ok(t, "wait", h.Call(within(t, time.Second), voter+":7948", wire.PathDirectory, in, &wire.DirectoryResponse{}))
		if far := minute(); far > 2*near { // gossip has a sign now and then
			t.Errorf("a voter wrote %d times in a minute long after one sign, %d times while the leader was near", far, near)
		}
	})
}

// dials counts the connections that a host opens to an address.
type dials struct {
	*gridtest.Host
	to atomic.Pointer[string]
	n  atomic.Int64
}

// Dial implements grid.Network.
func (d *dials) Dial(ctx context.Context, addr string) (net.Conn, error) {
	if to := d.to.Load(); to != nil && *to == addr {
		d.n.Add(1)
	}
	return d.Host.Dial(ctx, addr)
}

// TestVotersStayConnectedToTheLeader: at rest too, so that a look takes one round trip.
func TestVotersStayConnectedToTheLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all []*dials
		var mu sync.Mutex
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) {
			mu.Lock()
			defer mu.Unlock()
			d := &dials{Host: c.Network.(*gridtest.Host)}
			c.Network = d
			all = append(all, d)
		}})
		time.Sleep(time.Minute)
		to := g.Member(g.Leader()).Addrs().API
		for _, d := range all {
			d.to.Store(&to)
		}
		time.Sleep(3 * time.Minute)
		for _, d := range all {
			if n := d.n.Load(); n > 0 {
				t.Errorf("%d new connections to the leader in three minutes", n)
			}
		}
	})
}
