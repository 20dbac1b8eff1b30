package grid

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/signal"
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

// watchStreams looks at the leader whenever a stream from another member breaks, until
// ctx ends: it may be the leader's.
func (o *leadership) watchStreams(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.broken:
			o.lookAtLeader(ctx)
		}
	}
}

// lookAtLeader calls the leader that this member follows, and stands for election if its
// process has ended.
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
	for next := (leader.Next{Call: true}); next.Call || next.Stand; {
		signal.Sleep(ctx, next.Pause)
		switch {
		case ctx.Err() != nil || o.raft.Node() != node:
			return
		case next.Stand:
			if node.Stand(id) {
				o.log.Info("the leader's process has ended; this member stands for election", "leader", string(at.Incarnation))
			}
			return
		}
		began := o.clock.Mono()
		next = candidacy.Called(began, o.callLeader(ctx, at))
	}
}

// lookTimeout bounds a call to a leader whose stream broke.
const lookTimeout = 250 * time.Millisecond

func (o *leadership) callLeader(ctx context.Context, at roster.Member) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	_, err := o.hello(ctx, at.API, at.Incarnation)
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
