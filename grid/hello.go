package grid

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/leader"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// hello asks a member for its view.
func (m *Member) hello(ctx context.Context, addr string, target roster.Incarnation) (wire.HelloResponse, error) {
	var res wire.HelloResponse
	err := m.callMember(ctx, addr, target, wire.PathHello, wire.HelloRequest{}, &res)
	return res, err
}

// callMember makes one call to one incarnation of another member.
func (m *Member) callMember(ctx context.Context, addr string, target roster.Incarnation, path string, in, out any) error {
	return m.callMemberWithin(ctx, memberCalls, addr, target, path, in, out)
}

// callMemberWithin is callMember with a bound of its own.
func (m *Member) callMemberWithin(ctx context.Context, limit time.Duration, addr string, target roster.Incarnation, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	header := http.Header{}
	header.Set(wire.HeaderTarget, string(target))
	header.Set(wire.HeaderGrid, m.grid().String())
	err := m.http.CallWith(ctx, addr, path, header, in, out)
	if librarylog.IsTLS(err) {
		m.library.Report(slog.LevelWarn, "member call failed", "certificates of the members do not match", "addr", addr, "error", err.Error())
	}
	return err
}

// record returns the roster's record of this member.
func (m *Member) record() roster.Member {
	return roster.Member{
		Incarnation: m.self, API: m.addrs.API, Raft: m.addrs.Raft, Gossip: m.addrs.Gossip, Durable: m.cfg.DataDir != "",
	}
}

// serveHello tells this member's view.
func (m *Member) serveHello(context.Context, wire.HelloRequest) (wire.HelloResponse, error) {
	r := m.state.Roster()
	res := wire.HelloResponse{
		Incarnation: m.self, Grid: m.grid(), Version: r.Version, Settings: r.Settings,
		Wall: clustertime.TickOf(m.cfg.Clock.Now()), Time: m.clock.Now(),
		Record: m.record(), Leaving: m.state.Leaving(), DiskFailed: m.raft.Failure() != nil,
	}
	if node := m.raft.Node(); node != nil {
		res.Leader = node.Leader()
		if at, found := leader.MemberOf(r, leader.ServerID(res.Leader)); found {
			res.LeaderAt = wire.Address{Incarnation: at.Incarnation, API: at.API}
		}
	}
	res.Founding = m.foundingGrid()
	return res, nil
}
