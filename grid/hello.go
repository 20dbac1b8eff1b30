package grid

import (
	"context"
	"errors"
	"syscall"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

func (m *Member) serveHello(_ context.Context, in wire.HelloRequest) (wire.HelloResponse, error) {
	r := m.state.Roster()
	grid, attempted := m.formation.GridAndAttempt()
	res := wire.HelloResponse{
		Incarnation: m.self, Grid: grid, AttemptedGrid: attempted, Version: r.Version, Settings: r.Settings,
		Wall: clustertime.TickOf(m.cfg.Clock.Now()), Time: m.clock.Now(),
		Record: m.record(), Leaving: m.state.Leaving(), DiskFailed: m.raft.Failure() != nil, Release: wire.OwnRelease(),
	}
	if _, registered := r.Member(m.self); registered {
		res.Claim = r.Claim
	}
	if node := m.raft.Node(); node != nil {
		res.Leader, res.Unheard = node.Leader(), clustertime.SpanOf(m.monitor.leaderUnheard(node))
		res.Unanswered = clustertime.SpanOf(m.monitor.leaderUnanswered(leader.ServerID(res.Leader)))
		if at, found := leader.MemberOf(r, leader.ServerID(res.Leader)); found {
			res.LeaderAt = wire.Address{Incarnation: at.Incarnation, API: at.API}
		}
	}
	if in.Doubts != "" && in.Doubts == res.Leader {
		m.monitor.doubts.Send()
	}
	return res, nil
}

// helloServer answers a hello.
type helloServer = func(context.Context, wire.HelloRequest) (wire.HelloResponse, error)

// unlessMuted returns serve for a member whose disk does not hang: see [raftlog.Log.Hang].
func unlessMuted(r *raftlog.Server, serve helloServer) helloServer {
	return func(ctx context.Context, in wire.HelloRequest) (wire.HelloResponse, error) {
		if err := r.Muted(); err != nil {
			return wire.HelloResponse{}, err
		}
		return serve(ctx, in)
	}
}

// helloFrom requests a member's view. The error matches leader.ErrAbsent if it proves that the
// incarnation is not at the address.
func helloFrom(ctx context.Context, caller api.Caller, addr string, at roster.Incarnation) (wire.HelloResponse, error) {
	hello, err := caller.Hello(ctx, addr, at)
	return hello, markAbsent(err)
}

// helloOfMember requests a view from whichever start is at the address, if it has the probe's member ID.
func helloOfMember(ctx context.Context, caller api.Caller, p leader.Probe) (wire.HelloResponse, error) {
	hello, err := helloFrom(ctx, caller, p.API, roster.Incarnation(p.To.Member()))
	if err == nil && hello.Record.Incarnation.Member() != p.To.Member() {
		err = failure.Errorf(leader.ErrAbsent, "grid: another member is at %.80q: %s", p.API, hello.Record.Incarnation)
	}
	return hello, err
}

// markAbsent has the error of a call match leader.ErrAbsent if it proves that the incarnation
// is not at the address that was called.
func markAbsent(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wire.ErrNotAddressed) {
		return failure.Errorf(leader.ErrAbsent, "%w", err)
	}
	return err
}
