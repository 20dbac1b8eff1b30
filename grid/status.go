package grid

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Status is a grid's state in one member's view. Times are cluster time unless noted otherwise.
type Status struct {
	Grid      string   `json:"grid"`
	Name      string   `json:"name"`
	Version   uint64   `json:"version"` // the roster's version
	Settings  Settings `json:"settings"`
	Answering string   `json:"answering"` // incarnation of the member that answers
	// AnsweringName is that member's name for people; see Config.MemberName.
	AnsweringName string `json:"answering_name,omitempty"`
	Ready         bool   `json:"ready"` // see Member.Ready
	NotReady      string `json:"not_ready,omitempty"`
	// IDsBegin is the time when IDs begin, and IDsWait the reason for the wait; zero and "" if they
	// have begun.
	IDsBegin time.Time `json:"ids_begin,omitzero"`
	IDsWait  string    `json:"ids_wait,omitempty"`
	// Settled means that an orderly stop of one more member loses nothing; see Member.Settled.
	Settled    bool   `json:"settled"`
	NotSettled string `json:"not_settled,omitempty"`
	Advice     string `json:"advice,omitempty"` // an operation for an operator, as text
	Leader     string `json:"leader"`           // incarnation, "" while there is none
	LeaderName string `json:"leader_name,omitempty"`
	// Voters are the members that agree by Raft, and VotersAlive the voters seen alive.
	Voters      int `json:"voters"`
	VotersAlive int `json:"voters_alive"`
	// Protocol is the roster's protocol, and CommonProtocol the latest that every member seen by
	// gossip has: new features need both, and the first use of one raises Protocol if
	// CommonProtocol has it.
	Protocol       int `json:"protocol"`
	CommonProtocol int `json:"common_protocol"`
	// Zones are the members' zones, nil if there are not several. OneZone counts the partitions
	// with all copies in one zone.
	Zones   []ZoneInfo `json:"zones,omitempty"`
	OneZone int        `json:"one_zone,omitempty"`
	// AbsentVoters are members that do not run and still have votes, since their disks may come
	// back. Absent has their names and addresses, in the same order.
	AbsentVoters []string      `json:"absent_voters,omitempty"`
	Absent       []AbsentVoter `json:"absent,omitempty"`
	// Anchor is the record that limits the ceiling, nil in a grid without an anchor.
	Anchor *AnchorInfo `json:"anchor,omitempty"`
	// Identity is the number of the member that answers, nil if it is not to have one.
	Identity *IdentityInfo `json:"identity,omitempty"`
	// Copies is the number of backups that every partition has in sync: the minimum.
	Copies      int             `json:"copies"`
	ClusterTime time.Time       `json:"cluster_time"` // zero while unknown
	Wall        time.Time       `json:"wall"`         // the wall clock of the member that answers
	Ceiling     time.Time       `json:"ceiling"`      // grants end here at the latest
	Members     []MemberInfo    `json:"members"`
	Partitions  []PartitionInfo `json:"partitions"`
	Disks       []DiskInfo      `json:"disks"` // on which definitions rest, by member
	// Sequencers are by name, at most MaxStatusSequencers of each member: those with an alert, then others.
	Sequencers  []SequencerInfo `json:"sequencers"`
	Unreachable []string        `json:"unreachable,omitempty"` // incarnations whose sequencers are missing
	// Unlisted are partitions whose sequencers are missing, since no member that answered owned them
	// with every name: they move, or their owner waits for a disk or, after the loss of every copy, for
	// the holders.
	Unlisted []int `json:"unlisted,omitempty"`
	// ForeignMembers are members of other grids with the same name that this grid has met and
	// rejects.
	ForeignMembers []string `json:"foreign_members,omitempty"`
	// UnresolvedJoin are the answering member's entries of Config.Join that have not led to an
	// address for a minute, with the errors; 16 at most.
	UnresolvedJoin []string `json:"unresolved_join,omitempty"`
	// Sets give processes persistent numbers, by cluster and name.
	Sets []SetInfo `json:"sets,omitempty"`
	// Quotas limit holders, with their use.
	Quotas []Quota `json:"quotas,omitempty"`
	// Recovered records the recovery that formed the grid from another grid's data, and its losses;
	// nil for none.
	Recovered *RecoveryInfo `json:"recovered,omitempty"`
}

// AbsentVoter is a member that does not run and still has a vote.
type AbsentVoter struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"` // for operators, "" if unknown here
	Raft string `json:"raft,omitempty"` // its last address that Raft has
}

// who returns the name for people with the ID and the address.
func (a AbsentVoter) who() string {
	about := a.ID
	if a.Raft != "" {
		about += ", " + a.Raft
	}
	if a.Name == "" {
		return about
	}
	return a.Name + " (" + about + ")"
}

// SetInfo is a set of numbered processes. GET /v1/identity has its members.
type SetInfo struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	Next    uint64 `json:"next"`    // the number of the next process
	Members int    `json:"members"` // processes that have a number
}

// AnchorInfo is a grid's anchor in its leader's view, or, where State is "", in the view of a
// member that does not reach the leader.
type AnchorInfo struct {
	Claim string `json:"claim"` // the roster's claim, "" before the anchor was taken
	// State is held, taking, waiting, anchor_taken, deleted, damaged, unread, or "not
	// configured" of a leader that has no store.
	State string `json:"state"`
	// Left is for how long holders have grants: the ceiling less cluster time.
	Left  Milliseconds `json:"left_ms"`
	Limit time.Time    `json:"limit"` // up to which the leader may raise the ceiling
	// RecordCeiling, RecordGrid and RecordHolder are the record's fields at the last read; RecordGrid is
	// all zeros before it.
	RecordCeiling time.Time `json:"record_ceiling"`
	RecordGrid    string    `json:"record_grid"`
	RecordHolder  string    `json:"record_holder,omitempty"`
	Error         string    `json:"error,omitempty"` // error of the last read or write, or ""
	Advice        string    `json:"advice,omitempty"`
}

// MemberInfo is one member in the roster.
type MemberInfo struct {
	Incarnation string `json:"incarnation"`
	Name        string `json:"name,omitempty"` // for operators, "" if unknown here
	Zone        string `json:"zone,omitempty"`
	API         string `json:"api"`
	Raft        string `json:"raft"`
	Gossip      string `json:"gossip"`
	Durable     bool   `json:"durable"`
	Voter       bool   `json:"voter"`
	Leader      bool   `json:"leader"`
	Alive       bool   `json:"alive"`      // as gossip sees it
	Partitions  int    `json:"partitions"` // that it owns
	Replicas    int    `json:"replicas"`   // partition replicas in sync, including owned ones
	Settled     bool   `json:"settled"`    // every replica that it is meant to have is in sync
	// Report is the member's description of itself; nil without a reply.
	Report *MemberReport `json:"report,omitempty"`
	// Release is the member's release as seen by gossip, nil if gossip does not see it; the zero
	// value is a release with protocol 1, which does not announce itself.
	Release *Release `json:"release,omitempty"`
}

// ID returns the member's ID: the part before the dash, which stays the same over restarts.
func (m MemberInfo) ID() string { return string(roster.Incarnation(m.Incarnation).Member()) }

// PartitionInfo is one partition in the roster.
type PartitionInfo struct {
	ID     int      `json:"id"`
	Owner  string   `json:"owner"`
	InSync []string `json:"in_sync"` // the owner among them
	// Joining is the member that copies the partition at the moment, "" for none.
	Joining string `json:"joining,omitempty"`
	// Disks are the members with every acknowledged definition on disk.
	Disks []string `json:"disks,omitempty"`
	// Awaited are the members among Disks for which creates, opens and destroys wait: no replica is
	// left, and none of these members runs.
	Awaited  []string  `json:"awaited,omitempty"`
	Term     uint64    `json:"term"`
	LostTerm uint64    `json:"lost_term"` // term of the last loss of all copies
	Floor    time.Time `json:"floor"`
}

// SequencerInfo is one sequencer as its owner's table has it.
type SequencerInfo struct {
	Name      string           `json:"name"`
	Epoch     time.Time        `json:"epoch"`
	Exhausted time.Time        `json:"exhausted"` // when its IDs end
	Nodes     int              `json:"nodes"`
	Layout    sequencer.Layout `json:"layout"`
	// NodeRange is the holders' logical nodes, zero for all.
	NodeRange sequencer.NodeRange `json:"node_range,omitzero"`
	Life      string              `json:"life"`
	Partition int                 `json:"partition"`
	Owner     string              `json:"owner"`
	Attached  int                 `json:"attached"`
	// IDs is the number of IDs that holders have reported to the owner since it started, and Waits
	// the number of their calls that waited for a grant; see [Usage].
	IDs   uint64 `json:"ids"`
	Waits uint64 `json:"waits"`
	// Kept is the number of logical nodes reserved for holders with an unconfirmed grant from an
	// earlier run of the grid, until that grant has ended.
	Kept int `json:"kept,omitempty"`
	// AttachedNodes are the attached logical nodes, the first MaxStatusNodes.
	AttachedNodes []sequencer.NodeID `json:"attached_nodes"`
}

// OwnerOf returns the member that owns the partition of a sequencer's name, ""
// while it has none.
func (s Status) OwnerOf(name string) string {
	if len(s.Partitions) == 0 {
		return ""
	}
	return s.Partitions[roster.PartitionOf(name, len(s.Partitions))].Owner
}

// Bounds for a status.
const (
	MaxStatusSequencers = 1000
	MaxStatusNodes      = 1024
	maxStatusNodesTotal = 50_000
)

// Members returns the roster's members, by incarnation.
func (m *Member) Members() []MemberInfo { return m.overview.local().Members }

// Status returns this member's view; its sequencers are the ones in the partitions that it owns.
func (m *Member) Status() Status {
	s := m.overview.local()
	m.overview.addSequencers(m.ctx, &s)
	return s
}

// Ready reports whether the member should get traffic, that is, whether IDs can be issued now: it
// is in the roster, it has seen a ceiling raise within the last half window, it has its own
// replicas in sync, and IDs have begun (see Status.IDsBegin): after a start without data
// directories, or after the loss of every copy, they begin some seconds later. Until it was ready
// for the first time the grid has to be settled as well, so a rolling restart that waits for the
// restarted member does not stop the next one too early. A crash of another member does not change
// the answer. The reason is in [Status] and in GET /readyz.
func (m *Member) Ready() bool { return m.health.notReady() == nil }

// Settled reports whether an orderly stop of one more member loses nothing: each partition has
// Backups copies in sync besides the owner's, or as many as there are other members. A copy at a
// member that does not answer counts as missing as soon as the leader suspects that member, within
// about two seconds; without a leader nothing is settled. The reason is in [Status] and in GET
// /v1/settled.
func (m *Member) Settled() bool { return m.health.notSettled() == nil }
