package grid

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
)

// reportTo sends a report to the leader, which may be this member.
func (o *leadership) reportTo(ctx context.Context, req wire.HeldRequest) error {
	if o.raft.Node().Leads() {
		_, err := o.serveHeld(ctx, req)
		return err
	}
	return o.formation.AtLeader(ctx, wire.PathHeld, req)
}

// serveHeld makes the leader record an owner's report, and wakes its step.
func (o *leadership) serveHeld(ctx context.Context, in wire.HeldRequest) (wire.MemberResponse, error) {
	err := o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
		due, err := machine.Reported(v, leader.Report(in))
		if due {
			o.now.Send()
		}
		reply(err)
	})
	return o.versionUnless(err)
}

// A holder of an earlier life of the grid that was granted beyond the floor is not
// served by the owner (package partition), which has the leader raise all floors (S2).

// reportEarlier reports a grant from an earlier run to the leader, again with every retry by the
// holder, until the floors are raised.
func (o *leadership) reportEarlier(until clustertime.Tick) {
	if o.noteEarlier(until) || o.lone {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.life.Closed() || o.telling {
		return
	}
	o.telling = true
	o.life.Go(func() {
		if err := o.formation.AtLeader(o.life.Context(), wire.PathEarlier, wire.EarlierRequest{Until: until}); err != nil {
			o.log.Warn("earlier run's grant not reported to the leader yet; retrying", "error", err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.telling = false
	})
}

// noteEarlier has the leader raise the floors, if this member leads; false otherwise.
func (o *leadership) noteEarlier(until clustertime.Tick) bool {
	l := o.current.Load()
	return l != nil && l.node.Leads() && l.do(func(machine *leader.Leader, _ leader.View) {
		if machine.ShowEarlier(until) {
			o.log.Error("a holder reported an earlier run's grant above the floor: clocks were stepped back since; raising "+
				"all floors",
				"until", until.Time())
		}
	})
}

// clockSpread bounds the difference between two members' cluster times, as far as this matters.
const clockSpread = time.Second

// serveEarlier records a grant that a holder presented to another member.
func (o *leadership) serveEarlier(ctx context.Context, in wire.EarlierRequest) (wire.MemberResponse, error) {
	limit := partition.EarlierBound(o.state.Roster(), o.clock.Now())
	if limit > 0 {
		limit = limit.Add(clustertime.SpanOf(clockSpread))
	}
	if in.Until > limit {
		err := failure.Errorf(wire.ErrBadRequest,
			"grid: an earlier grid's grant cannot end at %d ms; the latest possible end is %d ms",
			in.Until, limit)
		o.audit.Write(audit.Entry{Action: string(security.Earlier), Who: api.WhoOf(ctx), Err: err})
		return wire.MemberResponse{}, err
	}
	if !o.noteEarlier(in.Until) {
		return wire.MemberResponse{}, refusal.ErrNotLeader
	}
	return wire.MemberResponse{Version: o.state.Roster().Version}, nil
}
