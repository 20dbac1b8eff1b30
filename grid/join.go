package grid

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/leader"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// outOfTouch is how long a member hears nothing from the leader before it asks to
// be let in again: it may have been taken out while it was paused or cut off.
const outOfTouch = 3 * time.Second

// askToJoin asks the leader to be let in, unless this member is in the roster
// and in touch with the leader.
func (m *Member) askToJoin(ctx context.Context) {
	node := m.raft.Node()
	if node.Leads() || m.state.Leaving() {
		return
	}
	_, in := m.state.Roster().Member(m.self)
	if in && time.Since(node.Raft.LastContact()) < outOfTouch {
		m.clash.set(nil)
		return
	}
	if err := m.atLeader(ctx, wire.PathJoin, wire.JoinRequest{Member: m.record(), Server: string(node.Server)}); err != nil {
		m.log.Debug("not let in yet", "error", err)
		m.noteRefusal(err)
	}
}

// atLeader makes one call at the leader, as this member or another knows it.
func (m *Member) atLeader(ctx context.Context, path string, in any) error {
	if node := m.raft.Node(); node != nil {
		if at, found := m.addressOf(node.Leader()); found {
			if m.caller.Call(ctx, at.API, at.Incarnation, path, in, &wire.MemberResponse{}) == nil {
				return nil
			}
		}
	}
	peers := m.gossip.Peers()
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	grid := m.grid()
	for _, p := range peers {
		if p.Incarnation == m.self || p.Grid != grid {
			continue
		}
		hello, err := m.caller.Hello(ctx, p.API, p.Incarnation)
		if err != nil {
			continue
		}
		at, found := m.addressOf(hello.Leader)
		if hello.LeaderAt.API != "" && hello.LeaderAt.Incarnation != m.self {
			at, found = hello.LeaderAt, true
		}
		if found {
			return m.caller.Call(ctx, at.API, at.Incarnation, path, in, &wire.MemberResponse{})
		}
	}
	return failure.Errorf(sequencer.ErrUnavailable, "grid: no member knows a leader; %s", m.gossip.Seen())
}

// addressOf finds another member by its Raft server ID. Gossip knows where it is now; a
// member that gossip does not see is where the roster says.
func (m *Member) addressOf(server string) (wire.Address, bool) {
	p, found := m.gossip.Find(func(p gossip.Peer) bool { return string(raftlog.ServerID(p.Incarnation, p.Durable)) == server })
	if found {
		return wire.Address{Incarnation: p.Incarnation, API: p.API}, p.Incarnation != m.self
	}
	member, found := leader.MemberOf(m.state.Roster(), leader.ServerID(server))
	return wire.Address{Incarnation: member.Incarnation, API: member.API}, found && member.Incarnation != m.self
}

// serveJoin notes that a member wants in, once that has said so itself. The leader's
// next step lets it in; the member asks until it sees itself in the roster.
func (m *Member) serveJoin(ctx context.Context, in wire.JoinRequest) (wire.MemberResponse, error) {
	if err := in.Member.Check(); err != nil {
		return wire.MemberResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: %s", err.Error())
	}
	if want := raftlog.ServerID(in.Member.Incarnation, in.Member.Durable); raft.ServerID(in.Server) != want {
		return wire.MemberResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: server %.80q does not belong to member %s", in.Server, in.Member.Incarnation)
	}
	err := m.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) { machine.Join(v, in.Member, reply) })
	if err != nil {
		return wire.MemberResponse{}, err
	}
	return wire.MemberResponse{Version: m.state.Roster().Version}, nil
}

// serveLeave takes a member out and answers when that is agreed. Until it is no
// Raft server any more the member has to stay: its vote may be needed for that.
func (m *Member) serveLeave(ctx context.Context, in wire.LeaveRequest) (wire.MemberResponse, error) {
	if err := in.Incarnation.Check(); err != nil {
		return wire.MemberResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: %s", err.Error())
	}
	err := m.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
		machine.Leave(v, in.Incarnation, in.Failed, reply)
	})
	for {
		if err != nil {
			return wire.MemberResponse{}, err
		}
		departed := false
		err = m.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
			departed = machine.Departed(v, in.Incarnation, leader.ServerID(in.Server))
			reply(nil)
		})
		if departed {
			return wire.MemberResponse{Version: m.state.Roster().Version}, nil
		}
		select {
		case <-time.After(leaveEvery):
		case <-ctx.Done():
			return wire.MemberResponse{}, failure.Errorf(sequencer.ErrUnavailable, "grid: the leave is not agreed yet: %w", ctx.Err())
		}
	}
}
