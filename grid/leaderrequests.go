package grid

import (
	"cmp"
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// atLead has the machine take a request, if this member leads, and returns its answer.
func (o *leadership) atLead(ctx context.Context, request func(machine *leader.Leader, v leader.View,
	reply func(error))) error {
	l := o.current.Load()
	if l == nil || !l.node.Leads() {
		return refusal.ErrNotLeader
	}
	answer, err := answerOf(ctx, l, request)
	return cmp.Or(err, refusalOf(answer))
}

// answerOf has the machine of a lead take a request, and waits for its answer.
func answerOf[Answer any](ctx context.Context, l *lead, request func(machine *leader.Leader, v leader.View,
	reply func(Answer))) (out Answer, err error) {
	answer := make(chan Answer, 1)
	if !l.do(func(machine *leader.Leader, v leader.View) { request(machine, v, func(a Answer) { answer <- a }) }) {
		return out, refusal.ErrNotLeader
	}
	select {
	case out = <-answer:
		return out, nil
	case <-ctx.Done():
		return out, failure.Errorf(sequencer.ErrUnavailable, "grid: the leader has not answered yet: %w", ctx.Err())
	}
}

// need has the roster raised to a protocol, and returns nil when it has that: before a
// command with a part that needs it is proposed. The error names the members that do not
// have the protocol.
func (o *leadership) need(ctx context.Context, p roster.Protocol, part string) error {
	return o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
		machine.Need(v, p, part, reply)
	})
}

// confirm returns nil if this member led the grid after it was called.
func (o *leadership) confirm() error {
	if l := o.current.Load(); l != nil {
		return l.node.Confirm()
	}
	return refusal.ErrNotLeader
}

// forward passes an operator's request on to the leader, by its Raft server ID.
func (o *leadership) forward(ctx context.Context, leader, path string, in, out any) error {
	at, found := o.formation.AddressOf(leader)
	if !found {
		return failure.Errorf(sequencer.ErrUnavailable, "grid: this member has no leader; %s", o.gossip.Seen())
	}
	return o.caller.CallWithin(ctx, api.ServeTimeout, at.API, at.Incarnation, path, in, out)
}

// serveOperator answers an operator's request: by here if this member leads the grid, else
// by one call of the leader. in is a pointer to the request, which is marked.
func serveOperator[Out any](ctx context.Context, o *leadership, path string, in wire.Relayed,
	here func() (Out, error)) (out Out, err error) {
	via := in.Via()
	if !via.Forwarded {
		via.AskedBy = api.WhoOf(ctx)
	}
	return atLeader(ctx, o, path, in, here)
}

// atLeader answers by here if this member leads the grid, else by one call of the leader.
func atLeader[Out any](ctx context.Context, o *leadership, path string, in wire.Relayed,
	here func() (Out, error)) (out Out, err error) {
	via, node := in.Via(), o.raft.Node()
	switch {
	case node == nil:
		return out, failure.Errorf(sequencer.ErrUnavailable, "%w", o.formation.NotFormed())
	case node.Leads():
		return here()
	case via.Forwarded:
		return out, refusal.ErrNotLeader
	}
	via.Forwarded = true
	err = o.forward(ctx, node.Leader(), path, in, &out)
	return out, err
}

// relayed returns a call that the leader serves, and that every other member passes on to it.
func relayed[In, Out any, P interface {
	*In
	Via() *wire.Relay
}](o *leadership, path string, serve func(ctx context.Context, in In) (Out, error)) *api.Call {
	return api.Typed(path, func(ctx context.Context, in In) (out Out, err error) {
		via := P(&in).Via()
		if !via.Forwarded {
			via.AskedBy, via.Caller = api.WhoOf(ctx), api.CallerOf(ctx)
		} else if via.Caller != nil {
			if err := via.Caller.Check(); err != nil {
				return out, err
			}
			ctx = api.OnBehalf(ctx, *via.Caller)
		}
		return atLeader(ctx, o, path, P(&in), func() (Out, error) { return serve(ctx, in) })
	})
}

// agreed returns a roster with everything that was answered before the call. The error is
// refusal.ErrNotLeader if this member does not lead, or is not ready to.
func (o *leadership) agreed() (*roster.Roster, error) {
	l := o.current.Load()
	if l == nil {
		return nil, refusal.ErrNotLeader
	}
	r := o.state.Roster()
	if err := l.confirm(); err != nil {
		return nil, err
	}
	if !r.Formed() {
		return nil, failure.Errorf(sequencer.ErrUnavailable, "grid: the grid is not formed yet")
	}
	return r, nil
}

// confirm returns nil if this member has led since it applied the log of the leaders before
// it, in one term of Raft, until after the call.
func (l *lead) confirm() error {
	term := l.caughtUp.Load()
	if term == 0 {
		return refusal.ErrNotLeader
	}
	if err := l.node.Confirm(); err != nil {
		return err
	}
	if l.node.Raft.CurrentTerm() != term {
		return refusal.ErrNotLeader
	}
	return nil
}

// refusals pairs the machine's errors with the API's.
var refusals = []struct{ machine, api error }{
	{leader.ErrBadRequest, wire.ErrBadRequest}, {leader.ErrNotNow, wire.ErrNotNow},
	{leader.ErrNotNeeded, wire.ErrNotNeeded},
	{leader.ErrNotConfirmed, wire.ErrNotConfirmed}, {leader.ErrIdentityInUse, wire.ErrIdentityInUse},
	{leader.ErrNotLeading, refusal.ErrNotLeader},
	{leader.ErrOtherClaim, wire.ErrOtherClaim},
}

// refusalOf returns the API's error for an error of the machine.
func refusalOf(err error) error {
	for _, r := range refusals {
		if errors.Is(err, r.machine) {
			return failure.Errorf(r.api, "%w", err)
		}
	}
	if err != nil {
		return failure.Errorf(sequencer.ErrUnavailable, "%w", err)
	}
	return nil
}
