package grid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
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
		return none, invalid("%.40q is no member ID; give the 16 hex digits that `snowgrid status` shows", string(in.Member))
	}
	if m.lone {
		return none, invalid("this member runs alone and keeps nothing on disk")
	}
	if !in.Forwarded {
		in.AskedBy = remoteOf(ctx)
	}
	node := m.node()
	switch {
	case node == nil:
		return none, failure.Errorf(sequencer.ErrUnavailable, "%w", m.notFormed())
	case node.leads():
		return m.forget(ctx, in)
	case in.Forwarded:
		return none, errNotLeader
	}
	leader, found := m.addressOf(node.leader())
	if !found {
		return none, failure.Errorf(sequencer.ErrUnavailable, "grid: this member knows no leader; %s", m.gossip.seen())
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
		r := m.roster.Load()
		if err := m.forgetRefused(ctx, r, in.Member); err != nil {
			return none, err
		}
		named, alone := r.Awaits(in.Member)
		if named == 0 {
			return none, invalid("no partition rests on the disk of %s; %s", in.Member, namedDisks(r))
		}
		if alone > 0 && !in.LoseDefinitions {
			return none, invalid("the disk of %s is the last one that has the definitions of %d partitions: giving it up loses them for good. %s. "+
				"If the disk can be had back, start the member on it instead; to lose them, say so (--lose-definitions)", in.Member, alone, lossText)
		}
		err := m.propose(partition.Command{From: r.Version, Change: &partition.Change{Forget: []partition.MemberID{in.Member}}})
		if errors.Is(err, partition.ErrStale) {
			continue
		}
		if err != nil {
			return none, failure.Errorf(sequencer.ErrUnavailable, "grid: the disk of %s is not given up: %w", in.Member, err)
		}
		m.log.Warn("disk forgotten", "forgotten", string(in.Member), "partitions", named, "partitions_without_other_disk", alone,
			"asked_by", fmt.Sprintf("%.100s", in.AskedBy), "call_from", remoteOf(ctx))
		return wire.ForgetResponse{Partitions: named, Lost: alone, Version: m.roster.Load().Version}, nil
	}
	return none, failure.Errorf(sequencer.ErrUnavailable, "grid: the grid changes all the time; try again")
}

// lossText says what is lost with the last disk of a partition.
const lossText = "Sequencers of those partitions are then known only by the processes that hold them. " +
	"Of the others it is forgotten that they exist, were destroyed, or which epoch they have: " +
	"one that is created with another epoch or node count than before can issue the same IDs again"

// forgetRefused says why the disk of a member must not be given up: it can be asked.
func (m *Member) forgetRefused(ctx context.Context, r *partition.Roster, id partition.MemberID) error {
	if id == m.self.Member() {
		return invalid("member %s runs: it is the one that answers", id)
	}
	if p, seen := m.gossip.find(func(p peer) bool { return p.Incarnation.Member() == id }); seen {
		return invalid("member %s runs: gossip sees it at %s; a disk is given up only when its member is gone for good", id, p.API)
	}
	i := slices.IndexFunc(r.Members, func(member partition.Member) bool { return member.Incarnation.Member() == id })
	if i < 0 {
		return nil
	}
	member := r.Members[i]
	if _, err := m.hello(ctx, member.API, member.Incarnation); err == nil {
		return invalid("member %s runs: it answers at %s; a disk is given up only when its member is gone for good", id, member.API)
	}
	return failure.Errorf(sequencer.ErrUnavailable, "grid: member %s does not answer and is in the grid still; it is taken out within seconds, try again then", id)
}

// namedDisks says which disks partitions rest on.
func namedDisks(r *partition.Roster) string {
	named := map[partition.MemberID]bool{}
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
