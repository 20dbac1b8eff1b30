package grid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// A disk that never comes back is given up by a person (D10). The leader does it, asked
// by any member, and only for a member that does not run: while it does, its disk can
// be asked.

// forgetTries bounds how often the leader proposes again because the roster changed.
const forgetTries = 10

// serveForget gives up a member's disk, or has the leader do it.
func (m *Member) serveForget(ctx context.Context, in wire.ForgetRequest) (wire.ForgetResponse, error) {
	var none wire.ForgetResponse
	if err := newIncarnation(in.Member).Check(); err != nil {
		return none, failure.Errorf(wire.ErrBadRequest, "grid: %.40q is not a member ID; give the 16 hex digits that `snowgrid status` shows", string(in.Member))
	}
	if m.lone {
		return none, failure.Errorf(wire.ErrNotNeeded, "grid: this member runs alone and stores nothing on disk")
	}
	if !in.Forwarded {
		in.AskedBy = remoteOf(ctx)
	}
	node := m.raft.Node()
	switch {
	case node == nil:
		return none, failure.Errorf(sequencer.ErrUnavailable, "%w", m.notFormed())
	case node.Leads():
		return m.forget(ctx, in)
	case in.Forwarded:
		return none, refusal.ErrNotLeader
	}
	leader, found := m.addressOf(node.Leader())
	if !found {
		return none, failure.Errorf(sequencer.ErrUnavailable, "grid: this member knows no leader; %s", m.gossip.Seen())
	}
	in.Forwarded = true
	var res wire.ForgetResponse
	err := m.callMemberWithin(ctx, serveTimeout, leader.API, leader.Incarnation, wire.PathForget, in, &res)
	return res, err
}

// forget gives up a member's disk, at the leader.
func (m *Member) forget(ctx context.Context, in wire.ForgetRequest) (wire.ForgetResponse, error) {
	var none wire.ForgetResponse
	for range forgetTries {
		r := m.state.Roster()
		if err := m.forgetRefused(ctx, r, in.Member); err != nil {
			return none, err
		}
		named, alone := r.Awaits(in.Member)
		if named == 0 {
			return none, failure.Errorf(wire.ErrNotNeeded, "grid: no partition depends on the disk of %s; %s", in.Member, namedDisks(r))
		}
		if alone > 0 && !in.LoseDefinitions {
			return none, failure.Errorf(wire.ErrNotConfirmed, "grid: nothing was done: the disk of %s is the last one with the definitions of %d partitions, and forgetting it loses them for good. %s. "+
				"If the disk can be restored, start the member on it instead; to lose the definitions, confirm with --lose-definitions", in.Member, alone, lossText)
		}
		err := m.raft.Propose(roster.Command{From: r.Version, Change: &roster.Change{Forget: []roster.MemberID{in.Member}}})
		if errors.Is(err, roster.ErrStale) {
			continue
		}
		if err != nil {
			return none, failure.Errorf(sequencer.ErrUnavailable, "grid: the disk of %s was not forgotten: %w", in.Member, err)
		}
		m.log.Warn("disk forgotten", "forgotten", string(in.Member), "partitions", named, "partitions_without_other_disk", alone,
			"asked_by", fmt.Sprintf("%.100s", in.AskedBy), "call_from", remoteOf(ctx))
		return wire.ForgetResponse{Partitions: named, Lost: alone, Version: m.state.Roster().Version}, nil
	}
	return none, failure.Errorf(sequencer.ErrUnavailable, "grid: the roster changed during each of %d attempts; try again", forgetTries)
}

// lossText says what is lost with the last disk of a partition.
const lossText = "Only sequencers that a running process uses are then still known. " +
	"For all others the grid forgets that they exist, that they were destroyed, and their epoch: " +
	"a name that is created again with another epoch or node count can repeat earlier IDs"

// forgetRefused says why the disk of a member must not be given up: it can be asked.
func (m *Member) forgetRefused(ctx context.Context, r *roster.Roster, id roster.MemberID) error {
	if id == m.self.Member() {
		return failure.Errorf(wire.ErrNotNow, "grid: the disk of %s was not forgotten: its member is running, and gave this answer", id)
	}
	if p, seen := m.gossip.Find(func(p gossip.Peer) bool { return p.Incarnation.Member() == id }); seen {
		return failure.Errorf(wire.ErrNotNow, "grid: the disk of %s was not forgotten: its member is running at %s (seen by gossip); a disk is forgotten only after its member is gone for good", id, p.API)
	}
	i := slices.IndexFunc(r.Members, func(member roster.Member) bool { return member.Incarnation.Member() == id })
	if i < 0 {
		return nil
	}
	member := r.Members[i]
	if _, err := m.hello(ctx, member.API, member.Incarnation); err == nil {
		return failure.Errorf(wire.ErrNotNow, "grid: the disk of %s was not forgotten: its member answers at %s; a disk is forgotten only after its member is gone for good", id, member.API)
	}
	return failure.Errorf(sequencer.ErrUnavailable, "grid: member %s does not answer and is still in the roster; it is removed within seconds, try again then", id)
}

// namedDisks says which disks partitions rest on.
func namedDisks(r *roster.Roster) string {
	named := map[roster.MemberID]bool{}
	var out []string
	for _, p := range r.Partitions {
		for _, id := range p.Disk {
			if !named[id] {
				named[id] = true
				out = append(out, string(id))
			}
		}
	}
	if len(out) == 0 {
		return "this grid keeps nothing on disk yet"
	}
	slices.Sort(out)
	return "they rest on the disks of " + strings.Join(out, ", ")
}

// remoteOf returns the address that a request came from.
func remoteOf(ctx context.Context) string {
	if c, remote := ctx.Value(connectionKey{}).(*connection); remote && c.remote != nil {
		return c.remote.String()
	}
	return "this process"
}
