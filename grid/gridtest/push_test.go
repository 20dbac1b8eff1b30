package gridtest_test

import (
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/security"
	"testing"
	"testing/synctest"
	"time"
)

// TestChangesArePushed: every member serves a change, and a raise of the ceiling, a network's
// delay after the leader has applied it. Raft alone would tell it up to two seconds later.
func TestChangesArePushed(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.New(t, gridtest.Config{Members: 3})
		g.StartMembers("m1", "m2", "m3")
		eventually(t, time.Minute, "the grid is settled", func() bool { return g.Member("m1").Status().Settled })
		g.Network.SetDelay(time.Millisecond)
		time.Sleep(5 * time.Second) // every member has answered a push
		leader := g.Member(g.Leader())
		for range 20 {
			before := leader.Status().Ceiling
			eventually(t, time.Minute, "the ceiling rises", func() bool { return leader.Status().Ceiling != before })
			time.Sleep(20 * time.Millisecond)
			want := leader.Status()
			for _, name := range g.Running() {
				if s := g.Member(name).Status(); s.Version != want.Version || s.Ceiling != want.Ceiling {
					t.Errorf("%s serves version %d with ceiling %v, the leader %d with %v", name, s.Version, s.Ceiling, want.Version,
						want.Ceiling)
				}
			}
		}
	})
}

// TestPushOfAnotherThanTheLeader: a member believes pushes of the leader that its Raft server
// follows, and of no other.
func TestPushOfAnotherThanTheLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.New(t, gridtest.Config{Members: 3})
		g.StartMembers("m1", "m2", "m3")
		time.Sleep(5 * time.Second)
		to := other(g, g.Leader())
		before := g.Member(to).Status()
		call, data := forge(t, g, to)
		first := call(wire.PushRequest{})
		at := first.At
		for _, name := range []string{"", "0123456789abcdef", before.Answering} {
			res := call(wire.PushRequest{Leader: name, Time: aheadOf(before), Echo: first.Mono,
				Commands: []wire.PushedCommand{{After: at, At: at + 1000, Command: data}}})
			if now := g.Member(to).Status().Ceiling; res.At >= at+1000 || now.Sub(before.Ceiling) > time.Minute {
				t.Errorf("a push in the name of %q is served: position %d, ceiling %v", name, res.At, now)
			}
			checkTime(t, g, to)
		}
	})
}

// aheadOf returns a time that is an hour ahead of a member's cluster time.
func aheadOf(s grid.Status) clustertime.Tick { return clustertime.TickOf(s.ClusterTime.Add(time.Hour)) }

// checkTime checks that a member's cluster time is the present.
func checkTime(t *testing.T, g *gridtest.Grid, name string) {
	t.Helper()
	if off := g.Member(name).Status().ClusterTime.Sub(gridtest.Now()).Abs(); off > time.Second {
		t.Fatalf("cluster time of %s is %v off", name, off)
	}
}

// forge returns a function by which another process pushes to a member, and a raise that no leader
// has proposed.
func forge(t *testing.T, g *gridtest.Grid, to string) (call func(wire.PushRequest) wire.PushResponse, raise []byte) {
	t.Helper()
	before := g.Member(to).Status()
	raise, err := wire.EncodeCommand(roster.Command{From: roster.Version(before.Version),
		Raise: &roster.Raise{Time: clustertime.TickOf(before.Ceiling) + 3_600_000}})
	if err != nil {
		t.Fatal(err)
	}
	h := calls.NewPool(g.Network.Host("evil").Dial, g.Load(security.Member))
	t.Cleanup(h.Close)
	head := frame.Head{Path: wire.PathPush, Target: before.Answering, Grid: before.Grid}
	return func(req wire.PushRequest) (res wire.PushResponse) {
		t.Helper()
		if err := h.CallWith(t.Context(), to+":7948", head, req, &res); err != nil {
			t.Fatal(err)
		}
		return res
	}, raise
}
