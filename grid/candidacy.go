package grid

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/signal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/leader"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// hello asks a member for its view. The error matches leader.ErrAbsent if it proves that
// the incarnation is not at the address.
func (o *leadership) hello(ctx context.Context, api string, to roster.Incarnation) (wire.HelloResponse, error) {
	hello, err := o.caller.Hello(ctx, api, to)
	return hello, markAbsent(err)
}

// markAbsent has the error of a call match leader.ErrAbsent if it proves that the incarnation
// is not at the address that was called.
func markAbsent(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wire.ErrNotAddressed) {
		return failure.Errorf(leader.ErrAbsent, "%w", err)
	}
	return err
}

// unreached has the leader look at a member that does not take what Raft sends to it.
func (o *leadership) unreached(server leader.ServerID, slow bool) {
	l := o.current.Load()
	if l == nil || !o.looking.CompareAndSwap(false, true) {
		return // Raft says so again soon
	}
	o.life.Background(func(context.Context) { // Raft waits for this call
		defer o.looking.Store(false)
		l.do(func(machine *leader.Leader, v leader.View) { machine.Unreached(v, server, slow) })
	})
}

// watchLeader looks at the leader whenever there is a sign that it may have ended or be silent, until
// ctx ends. A stream from another member that breaks may be the leader's, and a raise of the ceiling
// that does not come is a sign, too.
func (o *leadership) watchLeader(ctx context.Context) {
	late := time.NewTimer(0)
	defer late.Stop()
	for {
		overdue := leader.RaiseOverdue(o.state.Roster().Settings.Window.Duration())
		wait := overdue - o.state.RaiseAge()
		if wait <= 0 {
			wait = overdue // it was looked at for that
		}
		late.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-o.signs:
		case <-late.C:
			if o.state.RaiseAge() < overdue {
				continue
			}
		}
		o.lookAtLeader(ctx)
		signal.Sleep(ctx, betweenLooks)
	}
}

// betweenLooks bounds what signs cost that lead to nothing.
const betweenLooks = 50 * time.Millisecond

// lookAtLeader calls the leader that this member follows, and stands for election if its
// process has ended, or if most voters hear nothing from it.
func (o *leadership) lookAtLeader(ctx context.Context) {
	node := o.raft.Node()
	id := leader.ServerID(node.Leader())
	at, known := leader.MemberOf(o.state.Roster(), id)
	if !known || at.Incarnation == o.self || o.state.Leaving() {
		return
	}
	servers, _ := node.Servers()
	candidacy, votes := leader.NewCandidacy(serversOf(servers), leader.ServerID(o.raft.Self()), id)
	if !votes {
		return
	}
	why, doubted := "its process has ended", false
	for next := (leader.Next{Call: true}); next.Call || next.Ask || next.Stand; {
		signal.Sleep(ctx, next.Pause)
		switch {
		case ctx.Err() != nil || o.raft.Node() != node:
			return
		case next.Stand:
			if node.Stand(id) {
				o.log.Info("the leader is gone; this member stands for election", "leader", string(at.Incarnation), "reason", why)
			}
			return
		case next.Ask:
			if next = candidacy.Asked(o.unheard(ctx, candidacy.Voters(), id)); next.Stand {
				silence := candidacy.Silence(at.Incarnation)
				o.silence.Store(&silence)
				why = "most voters hear nothing from it"
			}
		default:
			began := o.clock.Mono()
			err := o.callLeader(ctx, at)
			switch {
			case err == nil:
				o.answered.Store(&answeredLook{id, began})
			case !doubted:
				doubted = true
				o.life.Background(func(ctx context.Context) { o.tellDoubt(ctx, candidacy.Voters(), id) })
			}
			next = candidacy.Called(began, o.clock.Mono(), err)
		}
	}
}

// answeredLook is a call that a leader answered.
type answeredLook struct {
	by    leader.ServerID
	began time.Duration
}

// leaderUnheard returns for how long this member has heard nothing from the leader that it follows, by
// Raft or as an answer to a look at it.
func (o *leadership) leaderUnheard(node *raftlog.Node) time.Duration {
	unheard := node.Unheard()
	if a := o.answered.Load(); a != nil && string(a.by) == node.Leader() {
		return min(unheard, o.clock.Mono()-a.began)
	}
	return unheard
}

// tellDoubt has other voters look at a leader that has not answered this one, so that each of them knows
// by a call of its own whether it answers when this member asks them. Raft's heartbeats alone would not
// show that: at rest they are further apart than a member may be silent.
func (o *leadership) tellDoubt(ctx context.Context, voters []leader.ServerID, of leader.ServerID) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var calls sync.WaitGroup
	for _, id := range voters {
		if at, member := leader.MemberOf(o.state.Roster(), id); member && at.Incarnation != o.self {
			calls.Go(func() {
				in := wire.HelloRequest{Doubts: string(of)}
				if err := o.caller.Call(ctx, at.API, at.Incarnation, wire.PathHello, in, &wire.HelloResponse{}); err != nil {
					o.log.Debug("a voter was not told that the leader does not answer", "voter", string(at.Incarnation), "error", err)
				}
			})
		}
	}
	calls.Wait()
}

// unheard asks voters, all at the same time, for how long each has heard nothing from a leader. One
// that does not answer, or follows another leader, is left out.
func (o *leadership) unheard(ctx context.Context, voters []leader.ServerID, from leader.ServerID) (out []time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	answers := make([]*wire.HelloResponse, len(voters))
	var calls sync.WaitGroup
	for i, id := range voters {
		if at, member := leader.MemberOf(o.state.Roster(), id); member {
			calls.Go(func() {
				if hello, err := o.viewOf(ctx, at); err == nil {
					answers[i] = &hello
				}
			})
		}
	}
	calls.Wait()
	for _, a := range answers {
		if a != nil && (a.Leader == "" || a.Leader == string(from)) {
			out = append(out, a.Unheard.Duration())
		}
	}
	return out
}

// viewOf returns the view of a member, which may be this one.
func (o *leadership) viewOf(ctx context.Context, m roster.Member) (wire.HelloResponse, error) {
	if m.Incarnation == o.self {
		return o.ownView(ctx, wire.HelloRequest{})
	}
	return o.hello(ctx, m.API, m.Incarnation)
}

// silenceBefore returns the silence of the leader before this member: as this member has looked at it,
// or, if it has missed heartbeats for as long as leads to an election, without calls.
func (o *leadership) silenceBefore(node *raftlog.Node) leader.Silence {
	if s := o.silence.Swap(nil); s != nil {
		return *s
	}
	id, unheard := node.Before()
	at, member := leader.MemberOf(o.state.Roster(), id)
	if !member || unheard < transport.HeartbeatTimeout {
		return leader.Silence{}
	}
	return leader.Silence{Member: at.Incarnation}
}

// lookTimeout bounds a call to a leader after a sign, and the calls to the other voters.
const lookTimeout = 250 * time.Millisecond

// callLeader looks at a leader. One that runs and leads no longer, because of its disk for example,
// counts like one that is not there.
func (o *leadership) callLeader(ctx context.Context, at roster.Member) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	hello, err := o.hello(ctx, at.API, at.Incarnation)
	if err == nil && (hello.DiskFailed || hello.Leader == "") {
		return failure.Errorf(leader.ErrAbsent, "grid: %s leads no longer", at.Incarnation)
	}
	return err
}

// serversOf returns Raft's servers as the leader's machine knows them.
func serversOf(servers []raft.Server) []leader.Server {
	var out []leader.Server
	for _, s := range servers {
		out = append(out, leader.Server{ID: leader.ServerID(s.ID), Voter: s.Suffrage == raft.Voter})
	}
	return out
}
