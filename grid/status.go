package grid

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/host"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/leader/anchor"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// Status is the state of a grid in the view of one member. Times are cluster time
// unless noted otherwise.
type Status struct {
	Grid      roster.GridID   `json:"grid"`
	Name      string          `json:"name"`
	Version   roster.Version  `json:"version"` // of the roster
	Settings  roster.Settings `json:"settings"`
	Answering string          `json:"answering"` // incarnation of the member that answers
	Ready     bool            `json:"ready"`     // see Member.Ready
	NotReady  string          `json:"not_ready,omitempty"`
	// Settled says that an orderly stop of one more member loses nothing; see
	// Member.Settled.
	Settled    bool   `json:"settled"`
	NotSettled string `json:"not_settled,omitempty"`
	Advice     string `json:"advice,omitempty"` // an operation for an operator, as text
	Leader     string `json:"leader"`           // incarnation, "" while there is none
	// Anchor is the record that limits the ceiling, nil in a grid without an anchor.
	Anchor *AnchorInfo `json:"anchor,omitempty"`
	// Copies is how many backups every partition really has: the least of all.
	Copies      int             `json:"copies"`
	ClusterTime time.Time       `json:"cluster_time"` // zero while unknown
	Wall        time.Time       `json:"wall"`         // the wall clock of the member that answers
	Ceiling     time.Time       `json:"ceiling"`      // grants end here at the latest
	Members     []MemberInfo    `json:"members"`
	Partitions  []PartitionInfo `json:"partitions"`
	Disks       []DiskInfo      `json:"disks"`                 // on which definitions rest, by member
	Sequencers  []SequencerInfo `json:"sequencers"`            // by name; the first MaxStatusSequencers of each member
	Unreachable []string        `json:"unreachable,omitempty"` // incarnations whose sequencers are missing
	// ForeignMembers are members of other grids of the same name that were met, and
	// are refused.
	ForeignMembers []string `json:"foreign_members,omitempty"`
}

// AnchorInfo is the anchor of a grid, in the view of its leader, or, where State is "", of
// a member that does not reach the leader.
type AnchorInfo struct {
	Claim roster.Claim `json:"claim"` // of the roster, "" before the anchor was taken
	// State is held, taking, waiting, anchor_taken, deleted, damaged, unread, or "not
	// configured" of a leader that has no store.
	State anchor.State `json:"state"`
	// Left is for how many milliseconds holders have grants: the ceiling less cluster time.
	Left  int64     `json:"left_ms"`
	Limit time.Time `json:"limit"` // up to which the leader may raise the ceiling
	// RecordCeiling, RecordGrid and RecordHolder are those of the record as it was seen last.
	RecordCeiling time.Time          `json:"record_ceiling"`
	RecordGrid    roster.GridID      `json:"record_grid"`
	RecordHolder  roster.Incarnation `json:"record_holder,omitempty"`
	Error         string             `json:"error,omitempty"` // of the last read or write, "" if there is none
	Advice        string             `json:"advice,omitempty"`
}

// MemberInfo is one member of the roster.
type MemberInfo struct {
	Incarnation roster.Incarnation `json:"incarnation"`
	API         string             `json:"api"`
	Raft        string             `json:"raft"`
	Gossip      string             `json:"gossip"`
	Durable     bool               `json:"durable"`
	Voter       bool               `json:"voter"`
	Leader      bool               `json:"leader"`
	Alive       bool               `json:"alive"`      // as gossip sees it
	Partitions  int                `json:"partitions"` // that it owns
	Replicas    int                `json:"replicas"`   // of partitions, in sync, owned ones among them
	Settled     bool               `json:"settled"`    // every replica that it is meant to have is in sync
}

// PartitionInfo is one partition of the roster.
type PartitionInfo struct {
	ID     roster.PartitionID   `json:"id"`
	Owner  roster.Incarnation   `json:"owner"`
	InSync []roster.Incarnation `json:"in_sync"` // the owner among them
	// Joining is the member that copies the partition at the moment, "" for none.
	Joining roster.Incarnation `json:"joining,omitempty"`
	// Disks are the members whose disks have every definition that was answered.
	Disks []roster.MemberID `json:"disks,omitempty"`
	// Awaited are those of Disks for which creates, opens and destroys wait: no replica
	// is left, and none of these members runs.
	Awaited  []roster.MemberID `json:"awaited,omitempty"`
	Term     roster.Term       `json:"term"`
	LostTerm roster.Term       `json:"lost_term"` // of the last time that no copy was left
	Floor    time.Time         `json:"floor"`
}

// SequencerInfo is one sequencer as its owner's table has it.
type SequencerInfo struct {
	Name      string             `json:"name"`
	Epoch     time.Time          `json:"epoch"`
	Exhausted time.Time          `json:"exhausted"` // when its IDs end
	Nodes     int                `json:"nodes"`
	Layout    sequencer.Layout   `json:"layout"`
	Life      sequencer.Life     `json:"life"`
	Partition roster.PartitionID `json:"partition"`
	Owner     roster.Incarnation `json:"owner"`
	Attached  int                `json:"attached"`
	// Kept is how many logical nodes are kept for holders that showed a grant of an
	// earlier life of the grid which is not believed, until that has ended.
	Kept int `json:"kept,omitempty"`
	// AttachedNodes are the attached logical nodes, the first MaxStatusNodes.
	AttachedNodes []sequencer.NodeID `json:"attached_nodes"`
}

// OwnerOf returns the member that owns the partition of a sequencer's name, ""
// while it has none.
func (s Status) OwnerOf(name string) roster.Incarnation {
	if len(s.Partitions) == 0 {
		return ""
	}
	return s.Partitions[roster.PartitionOf(name, len(s.Partitions))].Owner
}

// Bounds of a status.
const (
	MaxStatusSequencers = 1000
	MaxStatusNodes      = 1024
	maxStatusNodesTotal = 50_000
)

// Members returns the members of the roster, by incarnation.
func (m *Member) Members() []MemberInfo { return m.localStatus().Members }

// Status returns what this member knows by itself; the sequencers are those whose
// partitions it owns.
func (m *Member) Status() Status {
	s := m.localStatus()
	s.Sequencers = m.ownSequencers(m.ctx)
	return s
}

// Ready reports whether the member should get traffic: it is in the roster, it has
// seen a raise of the ceiling within the last half window, and it has its own
// replicas in sync. Until it was ready for the first time the grid has to be settled
// as well, so a rolling restart that waits for the restarted member does not stop
// the next one too early. A crash of another member does not change the answer. The
// reason is in [Status]; GET /readyz tells the same.
func (m *Member) Ready() bool { return m.health.notReady() == nil }

// Settled reports whether an orderly stop of one more member loses nothing: each
// partition has Backups copies in sync besides the owner's, or as many as there are
// other members. A copy at a member that does not answer counts as missing as soon
// as the leader doubts that member, within about two seconds. The reason is in
// [Status]; GET /v1/settled tells the same.
func (m *Member) Settled() bool { return m.health.notSettled() == nil }

func (m *Member) localStatus() Status {
	r := m.state.Roster()
	s := Status{
		Grid: r.Grid, Name: m.cfg.Name, Version: r.Version, Settings: r.Settings, Answering: string(m.self),
		Ready: true, Settled: true, Ceiling: instant(r.Ceiling), ClusterTime: instant(m.clock.Now()), Wall: m.cfg.Clock.Now().UTC(),
		Disks: disksOf(r), Sequencers: []SequencerInfo{}, ForeignMembers: m.gossip.ForeignMembers(),
	}
	s.Advice = m.health.warning()
	s.Anchor = m.anchorInfo(r)
	if err := m.health.notReady(); err != nil {
		s.Ready, s.NotReady = false, err.Error()
	}
	if err := m.health.notSettled(); err != nil {
		s.Settled, s.NotSettled = false, err.Error()
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
		s.Partitions = append(s.Partitions, PartitionInfo{
			ID: roster.PartitionID(id), Owner: p.Owner, InSync: p.InSync, Joining: p.Joining,
			Disks: p.Disk, Awaited: r.Awaited(roster.PartitionID(id)),
			Term: p.Term, LostTerm: p.LostTerm, Floor: instant(p.Floor),
		})
	}
	m.describeMembers(&s, r)
	for i := range s.Members {
		inc := s.Members[i].Incarnation
		s.Members[i].Partitions, s.Members[i].Replicas = owned[inc], replicas[inc]
	}
	return s
}

// describeMembers adds the members of the roster.
func (m *Member) describeMembers(s *Status, r *roster.Roster) {
	voters := map[raft.ServerID]bool{}
	var leader raft.ServerID
	if node := m.raft.Node(); node != nil {
		leader = raft.ServerID(node.Leader())
		if future := node.Raft.GetConfiguration(); future.Error() == nil {
			for _, server := range future.Configuration().Servers {
				voters[server.ID] = server.Suffrage == raft.Voter
			}
		}
	}
	alive := map[roster.Incarnation]bool{m.self: true}
	for _, p := range m.gossip.Peers() {
		alive[p.Incarnation] = true
	}
	for _, member := range r.Members {
		server := raftlog.ServerID(member.Incarnation, member.Durable)
		s.Members = append(s.Members, MemberInfo{
			Incarnation: member.Incarnation, API: member.API, Raft: member.Raft, Gossip: member.Gossip,
			Durable: member.Durable, Voter: voters[server], Leader: server == leader,
			Alive: alive[member.Incarnation], Settled: r.Settled(member.Incarnation),
		})
		if server == leader {
			s.Leader = string(member.Incarnation)
		}
	}
}

// ownSequencers returns the sequencers whose partitions this member owns.
func (m *Member) ownSequencers(ctx context.Context) []SequencerInfo {
	tables := host.Owned(ctx, m.host, func(id roster.PartitionID, table *partition.Table, now clustertime.Tick) (infos []SequencerInfo) {
		for _, ref := range table.Lives(MaxStatusSequencers) {
			info := describeSequencer(table, ref, now)
			info.Partition, info.Owner = id, m.self
			infos = append(infos, info)
		}
		return infos
	})
	out := []SequencerInfo{}
	nodes := 0
	for _, info := range slices.Concat(tables...) {
		nodes += len(info.AttachedNodes)
		if len(out) < MaxStatusSequencers && nodes <= maxStatusNodesTotal {
			out = append(out, info)
		}
	}
	sortByName(out)
	return out
}

// describeSequencer returns a table's knowledge of one sequencer.
func describeSequencer(table *partition.Table, ref sequencer.Ref, now clustertime.Tick) SequencerInfo {
	d := ref.Definition
	info := SequencerInfo{
		Name: d.Name(), Epoch: d.Epoch().Time(), Exhausted: d.Exhausted(), Nodes: d.Nodes(), Layout: d.Layout(), Life: ref.Life,
		AttachedNodes: []sequencer.NodeID{}, Kept: table.Kept(d.Name(), now),
	}
	for _, t := range table.TenantsOf(d.Name()) {
		if info.Attached++; info.Attached <= MaxStatusNodes {
			info.AttachedNodes = append(info.AttachedNodes, t.Node)
		}
	}
	return info
}

// serveStatus returns the whole grid's status; the other members are asked for
// their sequencers.
func (m *Member) serveStatus(ctx context.Context, in wire.StatusRequest) (Status, error) {
	s := m.localStatus()
	s.Sequencers = m.ownSequencers(ctx)
	if in.Local {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, api.MemberTimeout)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, member := range s.Members {
		if member.Incarnation == m.self {
			continue
		}
		wg.Go(func() {
			var other Status
			err := m.caller.Call(ctx, member.API, member.Incarnation, wire.PathStatus, wire.StatusRequest{Local: true}, &other)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.Unreachable = append(s.Unreachable, string(member.Incarnation))
				return
			}
			s.Sequencers = append(s.Sequencers, other.Sequencers...)
			if other.Anchor != nil && other.Anchor.State != "" && other.Leader == string(member.Incarnation) {
				s.Anchor = other.Anchor
			}
		})
	}
	wg.Wait()
	slices.Sort(s.Unreachable)
	sortByName(s.Sequencers)
	return s, nil
}

func sortByName(infos []SequencerInfo) {
	slices.SortFunc(infos, func(a, b SequencerInfo) int { return cmp.Compare(a.Name, b.Name) })
}

// instant is a tick for people; zero stays zero.
func instant(t clustertime.Tick) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return t.Time()
}
