package grid

import (
	"context"

	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// An operator takes a member out of the grid. Any member accepts the request, and the leader
// decides. A running member is notified, and leaves by itself (dismissal.go).

// serveRemove takes a member out of the grid, or has the leader do it.
func (o *leadership) serveRemove(ctx context.Context, in wire.RemoveRequest) (wire.RemoveResponse, error) {
	var none wire.RemoveResponse
	if err := checkMemberID(in.Member); err != nil {
		return none, err
	}
	if o.lone {
		return none, failure.Errorf(wire.ErrNotNow, "grid: this member runs alone; stop its process")
	}
	return serveOperator(ctx, o, wire.PathRemove, &in, func() (wire.RemoveResponse, error) { return o.remove(ctx, in) })
}

// checkMemberID refuses what is not a member ID. The error matches wire.ErrBadRequest.
func checkMemberID(id roster.MemberID) error {
	if err := formation.NewIncarnation(id).Check(); err != nil {
		return failure.Errorf(wire.ErrBadRequest,
			"grid: %.40q is not a member ID; give 16 hex digits, as listed by `snowgrid status`", string(id))
	}
	return nil
}

// remove takes a member out of the grid, at the leader.
func (o *leadership) remove(ctx context.Context, in wire.RemoveRequest) (wire.RemoveResponse, error) {
	var out leader.Removed
	err := o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
		machine.RemoveMember(v, in.Member, in.AskedBy, func(done leader.Removed, err error) {
			out = done
			reply(err)
		})
	})
	if err != nil || out.Leaving == "" { // the line about a leaving member is written when its removal is agreed
		o.audit.Write(audit.Entry{Action: audit.Remove, Name: string(in.Member), Who: in.AskedBy, Err: err})
	}
	if err != nil {
		return wire.RemoveResponse{}, err
	}
	return wire.RemoveResponse(out), nil
}

func (l *lead) Dismiss(d leader.Dismissal) {
	l.of.removals.ask(d.To, audit.Remove, d.By)
	l.calls.Go(func() {
		var err error
		if d.To == l.of.self {
			l.of.dismissal.begin()
		} else {
			err = l.of.caller.Call(l.ctx, d.API, d.To, wire.PathDismiss, wire.DismissRequest{}, &wire.DismissResponse{})
		}
		l.do(func(machine *leader.Leader, v leader.View) { machine.Dismissed(v, d, err) })
	})
}
