package gridtest_test

import (
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// learners returns the members that say of themselves that they are learners.
func learners(g *gridtest.Grid) (out []string) {
	for _, name := range g.Running() {
		s := g.Member(name).Status()
		for _, m := range s.Members {
			if m.Incarnation == s.Answering && m.Report != nil && m.Report.Learner {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// startMany starts a grid with two learners, and waits until it is settled.
func startMany(t *testing.T, cfg gridtest.Config) *gridtest.Grid {
	t.Helper()
	long.NotShort(t, "it has nine members")
	cfg.Members = leader.ServersMost + 2
	g := gridtest.New(t, cfg)
	var names []string
	for i := range cfg.Members {
		names = append(names, fmt.Sprint("m", i+1))
	}
	g.StartMembers(names...)
	eventually(t, time.Minute, "every member is settled", func() bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !g.Member(name).Status().Settled })
	})
	eventually(t, time.Minute, "two members are learners", func() bool { return len(learners(g)) == 2 })
	return g
}

// upToDate waits until every running member serves the same roster as one of them.
func upToDate(t *testing.T, g *gridtest.Grid, as string) {
	t.Helper()
	eventually(t, 10*time.Second, "every member is up to date", func() bool {
		want := g.Member(as).Status()
		return !slices.ContainsFunc(g.Running(), func(name string) bool {
			s := g.Member(name).Status()
			return s.Version != want.Version || s.Ceiling != want.Ceiling || s.Leader == ""
		})
	})
}

// TestLearners: members beyond the Raft servers hear of every change and raise, own partitions,
// know the leader and the voters, and follow the next leader when the first has crashed.
func TestLearners(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := startMany(t, gridtest.Config{})
		for range 3 {
			leads := g.Leader()
			g.Network.SetDelay(time.Millisecond)
			before := g.Member(leads).Status().Ceiling
			eventually(t, time.Minute, "the ceiling rises", func() bool { return g.Member(leads).Status().Ceiling != before })
			time.Sleep(20 * time.Millisecond) // a few delays of the network: no wait is longer
			want := g.Member(leads).Status()
			for _, name := range learners(g) {
				s := g.Member(name).Status()
				if s.Ceiling != want.Ceiling || s.Voters != 3 || s.VotersAlive != 3 || s.Leader != want.Leader ||
					s.ClusterTime.IsZero() {
					t.Errorf("%s: ceiling %v of %v, %d of %d voters, leader %s of %s", name, s.Ceiling, want.Ceiling, s.VotersAlive,
						s.Voters, s.Leader, want.Leader)
				}
			}
			for _, name := range learners(g) {
				seq, err := g.Member(name).CreateSequencer(t.Context(), "of-"+name, sequencer.Config{})
				if err == nil {
					_, err = seq.Next(t.Context())
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			g.Crash(leads)
			eventually(t, time.Minute, "another member leads", func() bool { return g.Leader() != "" && g.Leader() != leads })
			upToDate(t, g, g.Leader())
			g.StartMembers(leads)
			eventually(t, time.Minute, "every member is settled", func() bool {
				return !slices.ContainsFunc(g.Running(), func(name string) bool { return !g.Member(name).Status().Settled })
			})
			eventually(t, time.Minute, "two members are learners", func() bool { return len(learners(g)) == 2 })
		}
	})
}

// TestLearnerTakesThePlaceOfAServer: when members with servers end, learners get theirs.
func TestLearnerTakesThePlaceOfAServer(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := startMany(t, gridtest.Config{})
		for range 2 {
			i := slices.IndexFunc(g.Running(), func(name string) bool {
				return name != g.Leader() &&
					!slices.Contains(learners(g), name)
			})
			left := len(learners(g)) - 1
			g.Crash(g.Running()[i])
			eventually(t, time.Minute, "a learner has a server", func() bool { return len(learners(g)) == left })
			upToDate(t, g, g.Leader())
		}
		if s := g.Member(g.Leader()).Status(); s.Voters != 3 || s.VotersAlive != 3 {
			t.Errorf("%d of %d voters are alive", s.VotersAlive, s.Voters)
		}
	})
}

// TestDurableLearnersStartAgain: a learner keeps no log, and joins again; so it does when all
// members were stopped, whose voters have the log.
func TestDurableLearnersStartAgain(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := startMany(t, gridtest.Config{Durable: true})
		one := learners(g)[0]
		g.Crash(one)
		eventually(t, time.Minute, "it is out",
			func() bool { return len(g.Member(g.Leader()).Status().Members) == len(g.Running()) })
		g.StartMembers(one)
		upToDate(t, g, g.Leader())
		names := g.Running()
		before := g.Member(one).Status()
		g.Crash(names...)
		g.StartMembers(names...)
		eventually(t, time.Minute, "every member is settled again", func() bool {
			return !slices.ContainsFunc(names, func(name string) bool { return !g.Member(name).Status().Settled })
		})
		upToDate(t, g, g.Leader())
		if s := g.Member(one).Status(); s.Grid != before.Grid || len(s.Members) != len(names) {
			t.Errorf("%s is in grid %s with %d members, was in %s", one, s.Grid, len(s.Members), before.Grid)
		}
	})
}

// TestLearnerLeaves: out of the roster is all that it waits for.
func TestLearnerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := startMany(t, gridtest.Config{})
		g.Leave(learners(g)[0])
		if s := g.Member(g.Leader()).Status(); len(s.Members) != leader.ServersMost+1 {
			t.Errorf("%d members", len(s.Members))
		}
	})
}

// TestForgedPushToALearner: a learner believes a push with the key that it stated to the leader,
// and no other; and it follows no member that does not lead, or has led before.
func TestForgedPushToALearner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := startMany(t, gridtest.Config{})
		to := learners(g)[0]
		before := g.Member(to).Status()
		call, data := forge(t, g, to)
		first := call(wire.PushRequest{})
		at := first.At
		follower := other(g, g.Leader(), to)
		for _, name := range []string{"", before.Leader, before.Members[0].Incarnation,
			g.Member(follower).Status().Answering, before.Answering} {
			for _, term := range []uint64{0, 1, 1 << 50} {
				for _, key := range []string{"", "x", "AAAAAAAAAAAAAAAAAAAAAAAAAA"} {
					res := call(wire.PushRequest{Leader: name, Term: term, Key: key, Time: aheadOf(before), Echo: first.Mono,
						Commands: []wire.PushedCommand{{After: at, At: at + 1000, Command: data}}})
					if now := g.Member(to).Status().Ceiling; res.At >= at+1000 || now.Sub(before.Ceiling) > time.Minute {
						t.Fatalf("a push in the name of %q, term %d, key %q is served: position %d, ceiling %v", name, term, key,
							res.At, now)
					}
					checkTime(t, g, to)
				}
			}
		}
		time.Sleep(5 * time.Second) // of silence after 45 forged pushes
		upToDate(t, g, g.Leader())
		if got := learners(g); !slices.Contains(got, to) {
			t.Errorf("learners %v", got)
		}
	})
}

// TestFollowIsRefused: of members alone, with a key, by the leader.
func TestFollowIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.New(t, gridtest.Config{Members: 3})
		g.StartMembers("m1", "m2", "m3")
		eventually(t, time.Minute, "the grid is settled", func() bool { return g.Member("m1").Status().Settled })
		leads := g.Leader()
		s := g.Member(leads).Status()
		follows := g.Member(other(g, leads)).Status()
		h := calls.NewPool(g.Network.Host("evil").Dial, g.Load(security.Member))
		defer h.Close()
		own := roster.Incarnation(follows.Answering)
		for what, c := range map[string]struct {
			at   string
			of   string // its incarnation
			req  wire.FollowRequest
			want error
		}{
			"a member": {leads, s.Answering, wire.FollowRequest{Incarnation: own, Key: "k"}, nil},
			"a stranger": {leads, s.Answering, wire.FollowRequest{Incarnation: "0123456789abcdef-0123456789abcdef",
				Key: "k"}, wire.ErrNotNow},
			"without a key": {leads, s.Answering, wire.FollowRequest{Incarnation: own}, wire.ErrBadRequest},
			"with a long key": {leads, s.Answering,
				wire.FollowRequest{Incarnation: own, Key: strings.Repeat("k", wire.MaxKey+1)}, wire.ErrBadRequest},
			"at a follower": {other(g, leads), follows.Answering, wire.FollowRequest{Incarnation: own, Key: "k"},
				sequencer.ErrUnavailable},
		} {
			head := frame.Head{Path: wire.PathFollow, Target: c.of, Grid: s.Grid}
			var res wire.PushRequest
			err := h.CallWith(t.Context(), c.at+":7948", head, c.req, &res)
			if !errors.Is(err, c.want) || c.want == nil && (err != nil || res.Leader == "" || res.Term == 0 || res.Key != "") {
				t.Errorf("%s: %+v, %v", what, res, err)
			}
		}
	})
}
