package grid

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/host"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// overview describes the grid to operators: the status from this member's view, and from all
// members together.
type overview struct {
	*deps

	health   *health
	identity *numbering
	statuses *statusCache
}

// local returns the status from this member's view, without sequencers.
func (o *overview) local() Status {
	r := o.state.Roster()
	s := Status{
		Grid: r.Grid.String(), Name: o.cfg.Name, Version: uint64(r.Version), Settings: settingsOf(r.Settings),
		Answering: string(o.self), AnsweringName: o.cfg.MemberName, Ready: true, Settled: true,
		Ceiling: r.Ceiling.TimeOrZero(), ClusterTime: o.clock.Now().TimeOrZero(), Wall: o.cfg.Clock.Now().UTC(),
		Disks: disksOf(r), Sequencers: []SequencerInfo{}, ForeignMembers: o.gossip.ForeignMembers(),
	}
	s.Advice, s.UnresolvedJoin = o.health.warning(), o.gossip.Unresolved()
	s.Anchor, s.Identity = o.anchor(r), o.identity.info()
	if err := o.health.notReady(); err != nil {
		s.Ready, s.NotReady = false, err.Error()
	}
	if err := o.health.notSettled(); err != nil {
		s.Settled, s.NotSettled = false, err.Error()
	}
	if b := o.health.standing().firstID(); b.at > 0 {
		s.IDsBegin, s.IDsWait = b.at.TimeOrZero(), b.why
	}
	for i, d := range s.Disks {
		s.Disks[i].Name = o.nameOfMember(r, roster.MemberID(d.Member))
	}
	owned, replicas := map[roster.Incarnation]int{}, map[roster.Incarnation]int{}
	for id, p := range r.Partitions {
		owned[p.Owner]++
		for _, inc := range p.InSync {
			replicas[inc]++
		}
		copies := max(0, len(p.InSync)-1)
		if id == 0 || copies < s.Copies {
			s.Copies = copies
		}
		disks := p.Disk
		if p.Memory {
			disks = nil
		}
		s.Partitions = append(s.Partitions, PartitionInfo{
			ID: id, Owner: string(p.Owner), InSync: texts(p.InSync), Joining: string(p.Joining), Disks: texts(disks),
			Awaited: texts(r.Awaited(roster.PartitionID(id))), Term: uint64(p.Term), LostTerm: uint64(p.LostTerm),
			Floor: p.Floor.TimeOrZero(),
		})
	}
	for _, set := range r.Sets {
		s.Sets = append(s.Sets, SetInfo{Cluster: set.Cluster, Name: set.Name, Next: set.Next, Members: len(set.Members)})
	}
	s.Quotas, s.Recovered = quotasOf(wire.QuotasOf(r.Quotas)), recoveredOf(r.Recovered)
	o.describeMembers(&s, r)
	s.describeZones(r)
	quorum := o.health.quorum()
	s.Voters, s.VotersAlive = quorum.Voters(), len(quorum.Alive)
	s.takeReport(string(o.self), o.report(&s))
	for i := range s.Members {
		inc := roster.Incarnation(s.Members[i].Incarnation)
		s.Members[i].Partitions, s.Members[i].Replicas = owned[inc], replicas[inc]
	}
	return s
}

func (o *overview) describeMembers(s *Status, r *roster.Roster) {
	voters := map[raft.ServerID]bool{}
	var leads raft.ServerID
	var voting []leader.ServerID
	if node := o.raft.Node(); node != nil {
		leads = raft.ServerID(node.Leader())
		for _, server := range node.Voters() {
			voters[server.ID] = true
			if r.Formed() {
				voting = append(voting, leader.ServerID(server.ID))
			}
		}
	}
	s.Protocol, s.CommonProtocol = int(r.InUse()), int(roster.CurrentProtocol)
	alive := map[roster.Incarnation]bool{o.self: true}
	releases := map[roster.Incarnation]*Release{o.self: releaseOf(wire.OwnRelease())}
	for _, p := range o.gossip.Peers() {
		alive[p.Incarnation] = true
		if p.Incarnation != o.self {
			releases[p.Incarnation] = releaseOf(p.Release)
		}
	}
	o.describeAbsent(s, absentVoters(r, voting, alive))
	for _, member := range r.Members {
		server := raftlog.ServerID(member.Incarnation, member.Durable)
		s.Members = append(s.Members, MemberInfo{
			Incarnation: string(member.Incarnation), Name: o.nameOf(member.Incarnation), API: member.API, Raft: member.Raft,
			Gossip: member.Gossip, Durable: member.Durable, Voter: voters[server], Leader: server == leads, Zone: member.Zone,
			Alive: alive[member.Incarnation], Settled: r.Settled(member.Incarnation), Release: releases[member.Incarnation],
		})
		if release := releases[member.Incarnation]; release != nil {
			s.CommonProtocol = min(s.CommonProtocol, int(roster.Protocol(release.Max).Known()))
		}
		if server == leads {
			s.Leader, s.LeaderName = string(member.Incarnation), o.nameOf(member.Incarnation)
		}
	}
}

// nameOfMember returns the name of a present or former member, "" if unknown.
func (o *overview) nameOfMember(r *roster.Roster, id roster.MemberID) string {
	if id == o.self.Member() {
		return o.cfg.MemberName
	}
	for _, m := range r.Members {
		if m.Incarnation.Member() == id {
			return o.nameOf(m.Incarnation)
		}
	}
	return o.gossip.MemberName(id)
}

// addSequencers adds the sequencers in the partitions that this member owns. If it owns more than a status lists,
// those with an alert are among the listed ones.
func (o *overview) addSequencers(ctx context.Context, s *Status) {
	tables, whole := host.Owned(ctx, o.host,
		func(id roster.PartitionID, table *partition.Table, now clustertime.Tick) (infos []SequencerInfo) {
			alerts := func(ref attachment.Ref, attached int) bool {
				info := sequencerInfoOf(ref)
				info.Attached = attached
				return info.alerts(s.now())
			}
			others := func(ref attachment.Ref, attached int) bool { return !alerts(ref, attached) }
			for _, ref := range append(table.LivesThat(MaxStatusSequencers, alerts),
				table.LivesThat(MaxStatusSequencers, others)...) {
				info := describeSequencer(table, ref, now)
				info.Partition, info.Owner = int(id), string(o.self)
				used := o.host.UsageOf(info.Name)
				info.IDs, info.Waits = used.IDs, used.Waits
				infos = append(infos, info)
			}
			return infos
		})
	out := []SequencerInfo{}
	nodes := 0
	for _, info := range alertingFirst(slices.Concat(tables...), s.now()) {
		nodes += len(info.AttachedNodes)
		if len(out) < MaxStatusSequencers && nodes <= maxStatusNodesTotal {
			out = append(out, info)
		}
	}
	sortByName(out)
	s.Sequencers = out
	for _, p := range s.Partitions {
		if p.Owner == string(o.self) && !slices.Contains(whole, roster.PartitionID(p.ID)) {
			s.Unlisted = append(s.Unlisted, p.ID)
		}
	}
}

// alertingFirst returns sequencers with those before others about which there is an alert.
func alertingFirst(all []SequencerInfo, now time.Time) []SequencerInfo {
	var first, then []SequencerInfo
	for _, info := range all {
		if info.alerts(now) {
			first = append(first, info)
		} else {
			then = append(then, info)
		}
	}
	return append(first, then...)
}

// listedBy returns the partitions whose sequencers a member's own status lists.
func (s *Status) listedBy(member roster.Incarnation) (ids covers) {
	for _, p := range s.Partitions {
		if p.Owner == string(member) && !slices.Contains(s.Unlisted, p.ID) {
			ids = append(ids, roster.PartitionID(p.ID))
		}
	}
	return ids
}

// sequencerInfoOf returns what a definition says about a sequencer.
func sequencerInfoOf(ref attachment.Ref) SequencerInfo {
	d, cfg := ref.Definition, ref.Definition.Config()
	return SequencerInfo{Name: d.Name(), Epoch: cfg.Epoch.Time(), Exhausted: d.Exhausted(), Nodes: cfg.Nodes,
		Layout: cfg.Layout, NodeRange: attachment.ShortConfig(d).NodeRange}
}

func describeSequencer(table *partition.Table, ref attachment.Ref, now clustertime.Tick) SequencerInfo {
	info := sequencerInfoOf(ref)
	info.Life, info.AttachedNodes, info.Kept = ref.Life.String(), []sequencer.NodeID{}, table.Kept(info.Name, now)
	for _, t := range table.TenantsOf(info.Name) {
		if info.Attached++; info.Attached <= MaxStatusNodes {
			info.AttachedNodes = append(info.AttachedNodes, t.Node)
		}
	}
	return info
}

// serve returns the whole grid's status; it requests the other members' sequencers.
func (o *overview) serve(ctx context.Context, in wire.StatusRequest) (Status, error) {
	if in.Local {
		s := o.local()
		o.addSequencers(ctx, &s)
		s.Sequencers = usable(ctx, s.Sequencers)
		return s, nil
	}
	if err := o.statuses.enter(ctx); err != nil {
		return Status{}, err
	}
	s, err := o.statuses.status(ctx, func() Status { return o.whole(context.WithoutCancel(ctx)) })
	if err != nil {
		return Status{}, err
	}
	s.Sequencers = usable(ctx, slices.Clone(s.Sequencers))
	return s, nil
}

// whole gathers the status of the whole grid, with sequencers of any name.
func (o *overview) whole(ctx context.Context) Status {
	s := o.local()
	s.Quotas = quotasOf(usedQuotas(ctx, o.host, o.state.Roster()))
	ctx, cancel := context.WithTimeout(ctx, api.MemberTimeout)
	defer cancel()
	g := gather(ctx, o.state.Roster, o.requestStatus)
	for _, other := range g.replies {
		s.Sequencers = append(s.Sequencers, other.Sequencers...)
		if from := other.Answering; from != string(o.self) {
			s.takeReport(from, other.reportOf(from))
		}
		if other.Anchor != nil && other.Anchor.State != "" && other.Leader == other.Answering {
			s.Anchor = other.Anchor
		}
	}
	s.Unreachable = texts(g.unreachable)
	s.Unlisted = partitionNumbers(g.unlisted)
	sortByName(s.Sequencers)
	// During a move, both owners may list a partition.
	s.Sequencers = slices.CompactFunc(s.Sequencers, func(a, b SequencerInfo) bool { return a.Name == b.Name })
	return s
}

// requestStatus returns a member's own status, and the partitions whose sequencers it lists.
func (o *overview) requestStatus(ctx context.Context, m roster.Member) (s Status, _ covers, err error) {
	if m.Incarnation == o.self {
		s = o.local()
		o.addSequencers(ctx, &s)
	} else {
		err = o.caller.Call(ctx, m.API, m.Incarnation, wire.PathStatus, wire.StatusRequest{Local: true}, &s)
	}
	return s, s.listedBy(m.Incarnation), err
}

// usable returns the sequencers that the caller may use: all others are invisible to it.
func usable(ctx context.Context, infos []SequencerInfo) []SequencerInfo {
	caller := api.PeerOf(ctx)
	return slices.DeleteFunc(infos, func(q SequencerInfo) bool { return !caller.MayUse(q.Name) })
}

func sortByName(infos []SequencerInfo) {
	slices.SortFunc(infos, func(a, b SequencerInfo) int { return cmp.Compare(a.Name, b.Name) })
}

// anchor returns the anchor for the status, nil for a grid without one.
func (o *overview) anchor(r *roster.Roster) *AnchorInfo {
	if !o.anchorage.configured() && !r.Anchored {
		return nil
	}
	now := o.clock.Now()
	info := &AnchorInfo{Claim: string(r.Claim), Left: Milliseconds(leftOf(r, now).Milliseconds()),
		RecordGrid: roster.GridID{}.String()}
	s, leads := o.anchorage.now()
	if !leads {
		return info
	}
	info.State, info.Advice = string(s.State), anchorAdvice(s.State)
	info.Limit, info.RecordCeiling = s.Limit.TimeOrZero(), s.Record.Ceiling.TimeOrZero()
	info.RecordGrid, info.RecordHolder = s.Record.Grid.String(), string(s.Record.Holder)
	if s.Err != nil {
		info.Error = s.Err.Error()
	}
	return info
}
