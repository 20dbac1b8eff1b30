package grid_test

import (
	"context"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/clustertime"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// pretender is a process that calls members as if it were one of them. All that it
// needs is in any member's status.
type pretender struct {
	t    *testing.T
	g    *gridtest.Grid
	http *calls.Pool
}

func pretenderIn(t *testing.T, g *gridtest.Grid) pretender {
	t.Helper()
	h := calls.NewPool(g.Network.Host("evil").Dial, nil)
	t.Cleanup(h.Close)
	return pretender{t, g, h}
}

// incarnation returns the incarnation of a member.
func (p pretender) incarnation(name string) roster.Incarnation {
	return roster.Incarnation(p.g.Member(name).Status().Answering)
}

// call calls a member by all that its status tells.
func (p pretender) call(name, path string, in, out any) error {
	p.t.Helper()
	m := p.g.Member(name)
	head := frame.Head{Path: path, Target: m.Status().Answering, Grid: m.Status().Grid}
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Second)
	defer cancel()
	return p.http.CallWith(ctx, m.Addrs().API, head, in, out)
}

// durable starts three members with a disk.
func durable(t *testing.T) *gridtest.Grid {
	return gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
}

// TestForgedTermsOfPartitionsEndNothing: tables of terms that the roster does not name,
// sent to every member for every partition, end no owner and become no copy.
func TestForgedTermsOfPartitionsEndNothing(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, what := range []string{"the last", "the next", "the version"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := durable(t)
				ids := issueFrom(t, g, "web", "orders")
				ids.during(time.Second, "before")
				s := g.Member("m1").Status()
				term := map[string]roster.Term{
					"the last": math.MaxUint64, "the next": roster.Term(s.Version) + 1, "the version": roster.Term(s.Version),
				}[what]
				evil := pretenderIn(t, g)
				for id, p := range s.Partitions {
					if p.Term == uint64(term) {
						continue
					}
					for _, name := range g.Running() {
						go func() { // it may be kept waiting
							_ = evil.call(name, wire.PathReplicate, member.ReplicateRequest{
								Partition: roster.PartitionID(id), Version: roster.Version(term),
								Position: backup.Position{Term: term, Number: 1 << 40}, Pages: 1, Table: &member.Table{},
							}, &member.ReplicateResponse{})
						}()
					}
				}
				ids.during(30*time.Second, "after the forged tables")
				for i := range 20 {
					if _, err := g.Client("web").CreateSequencer(t.Context(), fmt.Sprintf("new-%d", i),
						sequencer.Config{}); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// members returns how many members every member of a grid knows, 0 if they differ.
func members(g *gridtest.Grid) (n int) {
	for i, name := range g.Running() {
		switch known := len(g.Member(name).Status().Members); {
		case i == 0:
			n = known
		case known != n:
			return 0
		}
	}
	return n
}

// TestOnlyTheSenderLeaves: a member that does not say so itself is not taken out,
// whatever the leader is told of it.
func TestOnlyTheSenderLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := durable(t)
		ids := issueFrom(t, g, "web", "orders")
		ids.during(time.Second, "before")
		evil, leader := pretenderIn(t, g), g.Leader()
		for _, name := range g.Running() {
			for _, failed := range []bool{true, false} {
				in := wire.LeaveRequest{Incarnation: evil.incarnation(name), Server: string(serverOf(g, name)), Failed: failed}
				if err := evil.call(leader, wire.PathLeave, in, &wire.MemberResponse{}); err == nil {
					t.Errorf("%s has left on a stranger's word", name)
				}
			}
		}
		for range 20 {
			ids.during(time.Second, "after the forged goodbyes")
			if n := members(g); n != 3 {
				t.Fatalf("%d members", n)
			}
		}
		g.Leave("m2")
		within(t, 5*time.Second, "a member that says so leaves", func() bool { return members(g) == 2 })
		g.StartMembers("m2")
		within(t, 20*time.Second, "it comes back", func() bool { return members(g) == 3 })
	})
}

// TestForgedLeaveOfUnreachableMemberIsIgnored: of a member that the leader does not reach
// nothing is believed; the failure detector decides in its own time.
func TestForgedLeaveOfUnreachableMemberIsIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := durable(t)
		evil, leader := pretenderIn(t, g), g.Leader()
		victim := "m1"
		if victim == leader {
			victim = "m2"
		}
		in := wire.LeaveRequest{Incarnation: evil.incarnation(victim), Server: string(serverOf(g, victim)), Failed: true}
		g.Network.Pause(victim)
		if err := evil.call(leader, wire.PathLeave, in, &wire.MemberResponse{}); err == nil {
			t.Error("a member that is paused has left on a stranger's word")
		}
		if n := len(g.Member(leader).Status().Members); n != 3 {
			t.Errorf("%d members right after the word", n)
		}
		g.Network.Resume(victim)
		within(t, 30*time.Second, "all are there", func() bool { return members(g) == 3 })
	})
}

// TestJoinsOfNobodyDoNotCount: joins of processes that do not exist are refused, however
// many there are, and the grid continues meanwhile; an existing process joins.
func TestJoinsOfNobodyDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := durable(t)
		ids := issueFrom(t, g, "web", "orders")
		ids.during(time.Second, "before")
		evil, leader := pretenderIn(t, g), g.Leader()
		forge := func(i int, api string) {
			inc := roster.Incarnation(fmt.Sprintf("%016x-%016x", i+1, 1))
			in := wire.JoinRequest{
				Member: roster.Member{Incarnation: inc, API: api, Raft: "evil:1", Gossip: "evil:2", Durable: true},
				Server: string(inc.Member()),
			}
			if err := evil.call(leader, wire.PathJoin, in, &wire.MemberResponse{}); err == nil {
				t.Errorf("join %d at %s is noted", i, api)
			}
		}
		g.Network.Host("silent")
		g.Network.Pause("silent")
		before := g.Member(leader).Status().Ceiling
		for i := range 1188 {
			api := "silent:7948" // nothing answers there
			switch i % 3 {
			case 1:
				api = "evil:7948" // connections are refused
			case 2:
				api = g.Member("m1").Addrs().API // another answers
			}
			go forge(i, api)
		}
		ids.during(3*time.Second, "during the forged joins")
		if _, err := g.Client("web").CreateSequencer(t.Context(), "users", sequencer.Config{}); err != nil {
			t.Error(err)
		}
		if rose := g.Member(leader).Status().Ceiling.Sub(before); rose < time.Second {
			t.Errorf("the ceiling rose by %v in 3 s", rose)
		}
		g.StartMembers("m4")
		within(t, 20*time.Second, "a member that exists gets in", func() bool { return members(g) == 4 })
		ids.during(5*time.Second, "afterwards")
	})
}

// TestJoinsAreAsTheMemberSays: a join that says of a real member what that does not
// say of itself does not count.
func TestJoinsAreAsTheMemberSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := durable(t)
		evil, leader := pretenderIn(t, g), g.Leader()
		for what, change := range map[string]func(m *roster.Member){
			"another Raft address": func(m *roster.Member) { m.Raft = "evil:7947" },
			"without its disk":     func(m *roster.Member) { m.Durable = false },
			"another start": func(m *roster.Member) {
				m.Incarnation = roster.Incarnation(fmt.Sprintf("%s-%016x", m.Incarnation.Member(), 77))
			},
		} {
			for _, info := range g.Member(leader).Status().Members {
				m := roster.Member{Incarnation: roster.Incarnation(info.Incarnation), API: info.API, Raft: info.Raft,
					Gossip: info.Gossip, Durable: info.Durable}
				change(&m)
				server := string(m.Incarnation)
				if m.Durable {
					server = string(m.Incarnation.Member())
				}
				if err := evil.call(leader, wire.PathJoin, wire.JoinRequest{Member: m, Server: server},
					&wire.MemberResponse{}); err == nil {
					t.Errorf("%s: noted", what)
				}
			}
		}
		time.Sleep(10 * time.Second)
		if n := members(g); n != 3 {
			t.Errorf("%d members", n)
		}
	})
}

// TestForgedAcceptanceEndsNoStart: a member that is asked by a stranger to accept a
// bootstrap member with other settings continues its start.
func TestForgedAcceptanceEndsNoStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // the last timers of members that were closed
		n := gridtest.NewNetwork()
		start := func(name string, window time.Duration) <-chan error {
			ended := make(chan error, 1)
			go func() {
				m, err := grid.Start(t.Context(), grid.Config{
					GossipAddr: name + ":7946", RaftAddr: name + ":7947", APIAddr: name + ":7948", AdvertiseHost: name,
					Join: []string{"m1:7946", "m2:7946"}, Expect: 2, Window: window, Network: n.Host(name), Clock: bubbleClock{},
					FirstLife: true, Security: &security.Config{Insecure: true},
				})
				if err == nil {
					t.Cleanup(func() { _ = m.Close() })
				}
				ended <- err
			}()
			return ended
		}
		first := start("m1", 10*time.Second)
		time.Sleep(5 * time.Second)
		h := calls.NewPool(n.Host("evil").Dial, nil)
		defer h.Close()
		var status grid.Status
		if err := h.Call(t.Context(), "m1:7948", wire.PathStatus, wire.StatusRequest{},
			&status); err != nil {
			t.Fatal(err)
		}
		var hello wire.HelloResponse
		head := frame.Head{Path: wire.PathHello, Target: status.Answering}
		if err := h.CallWith(t.Context(), "m1:7948", head, wire.HelloRequest{}, &hello); err != nil {
			t.Fatal(err)
		}
		settings := hello.Settings
		settings.Window++
		head.Path = wire.PathAccept
		err := h.CallWith(t.Context(), "m1:7948", head,
			wire.AcceptRequest{BootstrapMember: "0123456789abcdef", Grid: roster.GridID{9},
				Settings: settings}, &wire.AcceptResponse{})
		if err == nil {
			t.Error("other settings were accepted")
		}
		time.Sleep(5 * time.Second)
		second := start("m2", 10*time.Second)
		for _, ended := range []<-chan error{first, second} {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		time.Sleep(30 * time.Second)
	})
}

// TestClaimsOfEarlierLivesMoveLittle: a holder's claim of another grid stops no ID of a
// durable grid, nor moves its ceiling; a memory-only one follows it for as long as an earlier
// life can have granted.
func TestClaimsOfEarlierLivesMoveLittle(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, c := range []struct {
		durable bool
		ahead   time.Duration
	}{{true, 25*time.Hour - 5*time.Second}, {true, 15 * time.Second}, {false, 25*time.Hour - 5*time.Second}, {false,
		18 * time.Second}} {
		t.Run(fmt.Sprintf("durable %v, %v ahead", c.durable, c.ahead), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: c.durable,
					Change: func(_ string, cfg *grid.Config) { cfg.FirstLife = true }})
				ids := issueFrom(t, g, "web", "orders")
				ids.during(40*time.Second, "before") // beyond the first life of a durable grid
				evil, before := pretenderIn(t, g), g.Member("m1").Status()
				until := clustertime.TickOf(before.ClusterTime.Add(c.ahead))
				for _, node := range []*sequencer.NodeID{nil, new(sequencer.NodeID(0)), new(sequencer.NodeID(5))} {
					for _, name := range g.Running() {
						_ = evil.call(name, wire.PathAttach, wire.AttachRequest{Holder: "x", Claim: wire.Claim{
							Sequencer: wire.Sequencer{Name: "orders", Epoch: 1767225600000, Nodes: 8192, Life: attachment.Life{1},
								Born: attachment.Revision{Term: math.MaxUint64}},
							ID: attachment.ID{3}, Node: node, Grid: roster.GridID{1}, Version: 1, Until: until,
						}}, &wire.AttachResponse{})
						_ = evil.call(name, wire.PathEarlier, wire.EarlierRequest{Until: until}, &wire.MemberResponse{})
					}
				}
				if !c.durable {
					time.Sleep(25 * time.Second) // a believed one makes holders wait
				}
				ids.during(20*time.Second, "after the claims")
				after := g.Member("m1").Status()
				for id, p := range after.Partitions {
					if believed := !c.durable && c.ahead < time.Minute; p.LostTerm != before.Partitions[id].LostTerm && !believed {
						t.Fatalf("partition %d was lost over a grant that is not believed", id)
					}
				}
				most := after.ClusterTime.Sub(before.ClusterTime)
				if !c.durable {
					most += 5*time.Second + time.Second
				}
				if rose := after.Ceiling.Sub(before.Ceiling); rose > most+3*time.Second {
					t.Errorf("the ceiling rose by %v, cluster time by %v", rose, after.ClusterTime.Sub(before.ClusterTime))
				}
				if _, err := g.Client("another").CreateSequencer(t.Context(), "users", sequencer.Config{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestDeposedLeaderLetsNoMemberGo: a leader that no voter follows now, and that does not
// know it yet, confirms no leave: it may not know a member that joined at the next leader,
// whose vote is still needed.
func TestDeposedLeaderLetsNoMemberGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := durable(t)
		leaver, leader := pretenderIn(t, g), g.Leader()
		in := wire.LeaveRequest{Incarnation: "00000000000000aa-00000000000000bb", Server: "00000000000000aa"}
		if err := leaver.call(leader, wire.PathLeave, in, &wire.MemberResponse{}); err != nil {
			t.Fatalf("a leave of a process that is not a member: %v", err)
		}
		for _, name := range g.Running() {
			if name != leader {
				g.Network.Cut(leader, name)
			}
		}
		if err := leaver.call(leader, wire.PathLeave, in, &wire.MemberResponse{}); err == nil {
			t.Error("a leader that is cut off has confirmed a leave")
		}
		g.Network.HealAll()
	})
}
