package formation

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// outOfTouch is the silence from the leader after which a member requests admission again: it may have
// been removed while it was paused or partitioned.
const outOfTouch = 3 * time.Second

// askToJoin requests admission from the leader, unless this member is in the roster and in touch. A
// request that reached no leader is repeated on the next change.
func (f *Formation) askToJoin(ctx context.Context) wait {
	node := f.raft.Node()
	_, in := f.state.Roster().Member(f.self)
	if in && f.untilOutOfTouch() > 0 {
		f.clash.set(nil)
		f.behind.Store(false)
		return inTouch
	}
	if node.Leads() || f.state.Leaving() { // a leader joins itself
		return inTouch
	}
	if err := f.AtLeader(ctx, wire.PathJoin, wire.JoinRequest{Member: f.cfg.Record(), Server: string(node.Server),
		Name: f.cfg.MemberName}); err != nil {
		f.log.Debug("not admitted yet", "error", err)
		f.NoteRefusal(err)
		if errors.Is(err, wire.ErrOtherClaim) {
			return f.leftBehind()
		}
		if errors.Is(err, wire.ErrBadRequest) && f.boot.hinder(err.Error(), f.clock.Mono()) {
			f.log.Warn("join refused", "error", err)
		}
		if errors.Is(err, sequencer.ErrUnavailable) {
			f.followOthers(in)
			return nextNews
		}
	}
	return nextTick
}

// untilOutOfTouch returns the time of the next admission request if the leader stays silent.
func (d *deps) untilOutOfTouch() time.Duration {
	node := d.raft.Node()
	if node == nil || node.Leads() || d.state.Leaving() {
		return outOfTouch
	}
	return outOfTouch - time.Since(node.LastContact())
}

// AtLeader makes one call to the leader, as identified by this member or another.
func (f *Formation) AtLeader(ctx context.Context, path string, in any) error {
	if node := f.raft.Node(); node != nil {
		if at, found := f.AddressOf(node.Leader()); found {
			if f.caller.Call(ctx, at.API, at.Incarnation, path, in, &wire.MemberResponse{}) == nil {
				return nil
			}
		}
	}
	peers := slices.Clone(f.gossip.Peers())
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	grid := f.Grid()
	for _, p := range peers {
		if p.Incarnation == f.self || p.Grid != grid {
			continue
		}
		hello, err := f.caller.Hello(ctx, p.API, p.Incarnation)
		if err != nil {
			continue
		}
		at, found := f.AddressOf(hello.Leader)
		if hello.LeaderAt.API != "" && hello.LeaderAt.Incarnation != f.self {
			at, found = hello.LeaderAt, true
		}
		if found {
			return f.caller.Call(ctx, at.API, at.Incarnation, path, in, &wire.MemberResponse{})
		}
	}
	return failure.Errorf(sequencer.ErrUnavailable, "grid: no leader found; %s", f.gossip.Seen())
}

// AddressOf returns another member's address by its Raft server ID: from gossip, or else from the
// roster.
func (d *deps) AddressOf(server string) (wire.Address, bool) {
	p, found := d.gossip.Find(func(p gossip.Peer) bool {
		return string(raftlog.ServerID(p.Incarnation,
			p.Durable)) == server
	})
	if found {
		return wire.Address{Incarnation: p.Incarnation, API: p.API}, p.Incarnation != d.self
	}
	member, found := leader.MemberOf(d.state.Roster(), leader.ServerID(server))
	return wire.Address{Incarnation: member.Incarnation, API: member.API}, found && member.Incarnation != d.self
}
