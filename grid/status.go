package grid

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Status is the state of a grid in the view of one member. Times are cluster time
// unless noted otherwise.
type Status struct {
	Grid      roster.GridID   `json:"grid"`
	Name      string          `json:"name"`
	Version   roster.Version  `json:"version"` // of the roster
	Settings  roster.Settings `json:"settings"`
	Answering string          `json:"answering"` // incarnation of the member that answers
	// AnsweringName is that member's name for people; see Config.MemberName.
	AnsweringName string `json:"answering_name,omitempty"`
	Ready         bool   `json:"ready"` // see Member.Ready
	NotReady      string `json:"not_ready,omitempty"`
	// IDsBegin is when IDs begin, and IDsWait why none can be issued before; zero and "" if they
	// have begun.
	IDsBegin time.Time `json:"ids_begin,omitzero"`
	IDsWait  string    `json:"ids_wait,omitempty"`
	// Settled says that an orderly stop of one more member loses nothing; see
	// Member.Settled.
	Settled    bool   `json:"settled"`
	NotSettled string `json:"not_settled,omitempty"`
	Advice     string `json:"advice,omitempty"` // an operation for an operator, as text
	Leader     string `json:"leader"`           // incarnation, "" while there is none
	LeaderName string `json:"leader_name,omitempty"`
	// Voters are the members that agree by Raft, and VotersAlive those that are seen alive.
	Voters      int `json:"voters"`
	VotersAlive int `json:"voters_alive"`
	// Protocol is the one that the roster has, and CommonProtocol the latest that every
	// member has which gossip sees: new features need both, and the first use of one raises
	// Protocol if CommonProtocol has it.
	Protocol       roster.Protocol `json:"protocol"`
	CommonProtocol roster.Protocol `json:"common_protocol"`
	// Zones are the zones of the members, nil if there are not several. OneZone counts the
	// partitions whose copies are all in one of them.
	Zones   []ZoneInfo `json:"zones,omitempty"`
	OneZone int        `json:"one_zone,omitempty"`
	// AbsentVoters are members that do not run and whose votes still count, since their
	// disks may come back. Absent has their names and addresses, in the same order.
	AbsentVoters []roster.MemberID `json:"absent_voters,omitempty"`
	Absent       []AbsentVoter     `json:"absent,omitempty"`
	// Anchor is the record that limits the ceiling, nil in a grid without an anchor.
	Anchor *AnchorInfo `json:"anchor,omitempty"`
	// Identity is the number of the member that answers, nil if it is not to have one.
	Identity *IdentityInfo `json:"identity,omitempty"`
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
	// Sets give processes persistent numbers, by cluster and name.
	Sets []SetInfo `json:"sets,omitempty"`
	// Quotas limit what holders may take, with their use; see [roster.Quota].
	Quotas []wire.QuotaUse `json:"quotas,omitempty"`
	// Recovered records the recovery by which the grid was formed of another one's data, and
	// what was lost then; nil for none.
	Recovered *roster.Recovery `json:"recovered,omitempty"`
}

// AbsentVoter is a member that does not run and whose vote still counts.
type AbsentVoter struct {
	ID   roster.MemberID `json:"id"`
	Name string          `json:"name,omitempty"` // for people, "" if it is not known here
	Raft string          `json:"raft,omitempty"` // its last address that Raft has
}

// who returns the name for people with the ID and the address.
func (a AbsentVoter) who() string {
	about := string(a.ID)
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
	Name        string             `json:"name,omitempty"` // for people, "" if it is not known here
	Zone        string             `json:"zone,omitempty"`
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
	// Report is the member's description of itself; nil if it was not asked, or did not answer.
	Report *MemberReport `json:"report,omitempty"`
	// Release is the member's as gossip sees it, nil if it does not; the zero value is one
	// of protocol 1, which says nothing.
	Release *roster.Release `json:"release,omitempty"`
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
	// IDs is how many IDs holders have reported to the owner since that started, and Waits
	// how many of their calls had to wait for a grant; see [Usage].
	IDs   uint64 `json:"ids"`
	Waits uint64 `json:"waits"`
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
func (m *Member) Members() []MemberInfo { return m.overview.local().Members }

// Status returns what this member knows by itself; the sequencers are those whose
// partitions it owns.
func (m *Member) Status() Status {
	s := m.overview.local()
	s.Sequencers = m.overview.sequencers(m.ctx)
	return s
}

// Ready reports whether the member should get traffic, that is, whether IDs can be issued now: it
// is in the roster, it has seen a raise of the ceiling within the last half window, it has its own
// replicas in sync, and IDs have begun (see Status.IDsBegin): after a start without data
// directories, or after the loss of every copy, they begin some seconds later. Until it was ready for the first time the grid has to be settled
// as well, so a rolling restart that waits for the restarted member does not stop
// the next one too early. A crash of another member does not change the answer. The
// reason is in [Status]; GET /readyz tells the same.
func (m *Member) Ready() bool { return m.health.notReady() == nil }

// Settled reports whether an orderly stop of one more member loses nothing: each
// partition has Backups copies in sync besides the owner's, or as many as there are
// other members. A copy at a member that does not answer counts as missing as soon
// as the leader doubts that member, within about two seconds; without a leader nothing is settled. The reason is in
// [Status]; GET /v1/settled tells the same.
func (m *Member) Settled() bool { return m.health.notSettled() == nil }
