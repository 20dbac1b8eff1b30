package gridtest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// otherEpoch defines any sequencer differently: with it, IDs of the same moment would
// be those of another one.
var otherEpoch = sequencer.Config{Epoch: epoch.UnixMilli(1_700_000_000_000)}

// expectConflict creates a sequencer with another epoch than it has.
func expectConflict(t *testing.T, from creator, name string) {
	t.Helper()
	if _, err := from.CreateSequencer(within(t, time.Minute), name, otherEpoch); !errors.Is(err, sequencer.ErrConflict) {
		t.Errorf("create %q with another epoch: %v, want ErrConflict", name, err)
	}
}

// stopAll stops every member, by a crash or in order.
func stopAll(t *testing.T, g *gridtest.Grid, inOrder bool) {
	t.Helper()
	for _, name := range g.Running() {
		if !inOrder {
			g.Crash(name)
			continue
		}
		if err := g.TryLeave(within(t, time.Minute), name); err != nil {
			t.Logf("%s left: %v", name, err)
		}
	}
}

// TestDefinitionsSurviveEveryStop: a durable grid of which every process ends, in order
// or not, again and again, knows each definition and each destroy that it answered for.
// Otherwise a create with another epoch begins a sequencer that issues equal IDs.
func TestDefinitionsSurviveEveryStop(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	for what, inOrder := range map[string]bool{"stopped in order": true, "crashed": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Logger: logger()})
				ids := newChecker(t)
				c := g.Client("c0")
				ids.caller("first").must(create(t, c, "orders", 0), 1000)
				create(t, c, "gone", 0)
				ok(t, "destroy", c.DestroySequencer(within(t, time.Minute), "gone"))
				ok(t, "close", c.Close())
				for life, host := range []string{"c1", "c2", "c3"} {
					stopAll(t, g, inOrder)
					time.Sleep(time.Second)
					g.StartMembers("m1", "m2", "m3")
					c := g.Client(host)
					expectConflict(t, c, "orders")
					if _, err := c.OpenSequencer(within(t, time.Minute), "gone"); !errors.Is(err, sequencer.ErrNotFound) {
						t.Errorf("open of a destroyed name in life %d: %v", life+2, err)
					}
					ids.caller(host).must(create(t, c, "orders", 0), 1000)
					ok(t, "close", c.Close())
				}
			})
		})
	}
}

// TestMemoryOnlyGridForgets: a grid without data directories keeps definitions as long
// as it has a copy, and waits for no disk when it has none.
func TestMemoryOnlyGridForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) { c.FirstLife = true }})
		c := g.Client("c1")
		create(t, c, "orders", 0)
		g.Crash(g.OwnerOf("orders"))
		expectConflict(t, c, "orders")
		ok(t, "close", c.Close())
		g.Crash(g.Running()...)
		time.Sleep(time.Minute)
		g.StartMembers("m1", "m2", "m3")
		if s := g.Member("m1").Status(); len(s.Disks) > 0 {
			t.Errorf("definitions rest on the disks of %v", s.Disks)
		}
		_, err := g.Client("c2").CreateSequencer(within(t, time.Minute), "orders", otherEpoch)
		ok(t, "create", err)
	})
}

// TestMixedGridWaitsForItsDisk: in a grid with one durable member that is gone, no create
// is answered, since it would be on no disk; handles continue. When the member is back, it
// is named again, and its definitions are known (D11).
func TestMixedGridWaitsForItsDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 4, Durable: true, Change: func(name string, c *grid.Config) {
			if name != "m4" {
				c.DataDir, c.FirstLife = "", true
			}
		}})
		c := g.Client("c1")
		orders := create(t, c, "orders", 0)
		time.Sleep(5 * time.Second)
		for _, p := range statusOf(t, g, "m1").Partitions {
			if len(p.Disks) != 1 || !slices.ContainsFunc(p.InSync,
				func(i string) bool { return grid.MemberInfo{Incarnation: i}.ID() == p.Disks[0] }) {
				t.Fatalf("partition %d rests on the disks of %v, its replicas are %v", p.ID, p.Disks, p.InSync)
			}
		}
		g.Crash("m4")
		time.Sleep(20 * time.Second)
		if _, err := c.CreateSequencer(within(t, 5*time.Second), "late", sequencer.Config{}); !errors.Is(err,
			sequencer.ErrUnavailable) {
			t.Errorf("a create that no disk can have: %v, want ErrUnavailable", err)
		}
		_, err := orders.Next(within(t, time.Minute))
		ok(t, "next", err)
		g.StartMembers("m4")
		expectConflict(t, c, "orders")
		create(t, c, "later", 0)
		_, err = orders.Next(within(t, time.Minute))
		ok(t, "next", err)
	})
}

// lostBoth is a grid of five members of which the two with a sequencer's table have
// crashed together.
type lostBoth struct {
	*gridtest.Grid
	t       *testing.T
	lost    []string // their names
	members []string
	orders  *sequencer.Sequencer // held by a client
	log     *recorder
}

func newLostBoth(t *testing.T) *lostBoth {
	t.Helper()
	l := &lostBoth{t: t, log: new(recorder)}
	l.Grid = gridtest.Start(t, gridtest.Config{Members: 5, Durable: true, Logger: l.log.logger()})
	name := l.pick()
	l.orders = create(t, l.Client("c1"), name, 0)
	_, err := l.orders.Next(within(t, time.Minute))
	ok(t, "next", err)
	time.Sleep(5 * time.Second)
	l.Crash(l.lost...)
	return l
}

// pick chooses a name of which the two copies are not two of the three voters, and
// notes where those are.
func (l *lostBoth) pick() string {
	l.t.Helper()
	s := statusOf(l.t, l.Grid, "m1")
	hosts, voters := map[string]string{}, map[string]bool{}
	for _, host := range l.Running() {
		hosts[l.Member(host).Status().Answering] = host
	}
	for _, m := range s.Members {
		voters[m.Incarnation] = m.Voter
	}
	for _, name := range several(1000) {
		p := s.Partitions[roster.PartitionOf(name, len(s.Partitions))]
		if len(p.InSync) != 2 || voters[p.InSync[0]] && voters[p.InSync[1]] {
			continue
		}
		for _, inc := range p.InSync {
			l.lost = append(l.lost, hosts[inc])
			l.members = append(l.members, grid.MemberInfo{Incarnation: inc}.ID())
		}
		return name
	}
	l.t.Fatal("every pair of members are two voters")
	return ""
}

// name is the sequencer's.
func (l *lostBoth) name() string { return l.orders.Name() }

// partition is the PartitionInfo of the sequencer as a running member shows it.
func (l *lostBoth) partition() grid.PartitionInfo {
	s := l.Member(l.Running()[0]).Status()
	return s.Partitions[roster.PartitionOf(l.name(), len(s.Partitions))]
}

// TestBothCopiesLost: after the loss of both copies of a partition, creates, opens and
// destroys in it wait, with an error that names the disks; handles continue. When one of
// the disks is back, every answered create and destroy is known.
func TestBothCopiesLost(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLostBoth(t)
		began := time.Now()
		c := l.Client("c2")
		time.Sleep(30 * time.Second)
		awaited := l.awaited()
		for what, ask := range map[string]func() error{
			"create": func() error {
				_, err := c.CreateSequencer(within(t, 10*time.Second), l.name(), otherEpoch)
				return err
			},
			"same create": func() error {
				_, err := c.CreateSequencer(within(t, 10*time.Second), l.name(), sequencer.Config{})
				return err
			},
			"open":    func() error { _, err := c.OpenSequencer(within(t, 10*time.Second), l.name()); return err },
			"destroy": func() error { return c.DestroySequencer(within(t, 10*time.Second), l.name()) },
		} {
			err := ask()
			if !errors.Is(err, sequencer.ErrUnavailable) {
				t.Errorf("%s: %v, want ErrUnavailable", what, err)
			}
			for _, word := range append([]string{"snowgrid forget"}, awaited...) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s: the error does not say %q: %v", what, word, err)
				}
			}
		}
		for range 30 {
			_, err := l.orders.Next(within(t, 5*time.Second))
			ok(t, "next while the disks are awaited", err)
			time.Sleep(time.Second)
		}
		if n, limit := l.log.count("disk awaited"), len(l.Running())*(1+int(time.Since(began)/(30*time.Second))); n == 0 ||
			n > limit {
			t.Errorf("the log says %d times that disks are awaited, want up to %d", n, limit)
		}
		l.StartMembers(l.hostOf(awaited[0]))
		expectConflict(t, c, l.name())
		_, err := c.OpenSequencer(within(t, time.Minute), l.name())
		ok(t, "open", err)
		_, err = l.orders.Next(within(t, time.Minute))
		ok(t, "next when the disk is back", err)
		if p := l.partition(); len(p.Awaited) > 0 {
			t.Errorf("%v are awaited still", p.Awaited)
		}
		time.Sleep(5 * time.Second)
		if l.log.count("definitions collected") == 0 {
			t.Error("the log does not say that definitions were collected")
		}
	})
}

// TestForget: a disk is given up only for a member that does not run, and the last one
// of a partition only if the loss is confirmed; that ends the wait. The leader's log
// has who asked.
func TestForget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLostBoth(t)
		asked := l.Running()[0]
		forget := func(in wire.ForgetRequest) (out wire.ForgetResponse, err error) {
			err = callMember(t, l.Grid, asked, wire.PathForget, in, &out)
			return out, err
		}
		refused := func(what string, in wire.ForgetRequest, words ...string) {
			t.Helper()
			_, err := forget(in)
			for _, word := range words {
				if err == nil || !strings.Contains(err.Error(), word) {
					t.Errorf("%s: %v, want an error with %q", what, err, word)
				}
			}
		}
		time.Sleep(30 * time.Second)
		running := roster.Incarnation(l.Member(l.Running()[1]).Status().Answering).Member()
		refused("a member that runs", wire.ForgetRequest{Member: running, LoseDefinitions: true}, "its member is running")
		refused("no member ID", wire.ForgetRequest{Member: "orders"}, "is not a member ID")
		refused("a member that never was", wire.ForgetRequest{Member: "00000000000000ff"}, "no partition depends on the disk",
			string(running))
		c := l.Client("c2")
		awaited := l.awaited()
		for n := 1; n < len(awaited); n++ {
			// It can be the last one of another partition.
			out, err := forget(wire.ForgetRequest{Member: roster.MemberID(awaited[n]), LoseDefinitions: true})
			ok(t, "forget one of several", err)
			_, err = c.OpenSequencer(within(t, 5*time.Second), l.name())
			if out.Partitions <= out.Lost || err == nil || !strings.Contains(err.Error(), awaited[0]) ||
				strings.Contains(err.Error(), awaited[n]) {
				t.Errorf("forgetting %s said %+v, and then the error is %v; want one that names %s alone", awaited[n], out, err,
					awaited[0])
			}
		}
		last := wire.ForgetRequest{Member: roster.MemberID(awaited[0])}
		refused("the last disk", last, "last one", "loses them for good", "another epoch", "lose-definitions")
		last.LoseDefinitions = true
		out, err := forget(last)
		ok(t, "forget the last", err)
		if out.Lost == 0 {
			t.Errorf("forgetting the last said %+v", out)
		}
		_, err = c.CreateSequencer(within(t, time.Minute), l.name()+"-new", otherEpoch)
		ok(t, "create", err)
		_, err = l.orders.Next(within(t, time.Minute)) // its holder has shown it
		ok(t, "next", err)
		expectConflict(t, c, l.name())
		if n := l.log.count("disk forgotten"); n != len(awaited) {
			t.Errorf("the log says %d times that a disk was forgotten, want %d", n, len(awaited))
		}
		// Its stored tables are replaced when it comes back, and not used.
		l.StartMembers(l.lost...)
		time.Sleep(10 * time.Second)
		expectConflict(t, c, l.name())
	})
}

// awaited returns the members whose disks the sequencer's partition waits for: the two
// that are lost, or the one whose end was noticed last.
func (l *lostBoth) awaited() []string {
	l.t.Helper()
	p := l.partition()
	if len(p.Awaited) == 0 || !slices.Equal(p.Awaited, p.Disks) ||
		slices.ContainsFunc(p.Awaited, func(id string) bool { return !slices.Contains(l.members, id) }) {
		l.t.Fatalf("the status says that %v of %v are awaited, want some of %v", p.Awaited, p.Disks, l.members)
	}
	return p.Awaited
}

// hostOf returns the name of a member that was lost.
func (l *lostBoth) hostOf(id string) string {
	return l.lost[slices.Index(l.members, id)]
}
