package wire

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// HelloRequest requests a member's view.
type HelloRequest struct {
	// Doubts is the Raft server ID of a leader that does not answer the caller: the receiver probes that
	// leader, too.
	Doubts string `json:"doubts,omitempty"`
}

// HelloResponse is a member's own view.
type HelloResponse struct {
	Incarnation   roster.Incarnation `json:"incarnation"`
	Grid          roster.GridID      `json:"grid"` // zero: not formed yet
	Version       roster.Version     `json:"version"`
	AttemptedGrid roster.GridID      `json:"founding"` // the grid it tries to form, zero: none
	Settings      roster.Settings    `json:"settings"`
	Leader        string             `json:"leader"` // Raft server ID, "" while unknown
	Wall          clustertime.Tick   `json:"wall"`   // the member's wall clock
	Time          clustertime.Tick   `json:"time"`   // cluster time in its view, 0 = unknown
	Record        roster.Member      `json:"record"` // its record in the roster, or the future one
	Leaving       bool               `json:"leaving,omitempty"`
	DiskFailed    bool               `json:"disk_failed,omitempty"`      // or it cannot read the roster
	Claim         roster.Claim       `json:"claim,omitempty"`            // its roster's, if that has this incarnation
	Release       roster.Release     `json:"release,omitempty,omitzero"` // zero for protocol 1
	// LeaderAt is the leader's address, empty while unknown: gossip may not list it.
	LeaderAt Address `json:"leader_at"`
	// Unheard is the time since this Raft server's last contact with the leader that it names, by Raft or as
	// a reply to its own call.
	Unheard clustertime.Span `json:"unheard_ms,omitempty"`
	// Unanswered is the time for which that leader has answered no call of this server.
	Unanswered clustertime.Span `json:"unanswered_ms,omitempty"`
}

// AcceptRequest asks a member without a grid to be formed into one.
type AcceptRequest struct {
	BootstrapMember roster.MemberID `json:"founder"`
	Grid            roster.GridID   `json:"grid"`
	Settings        roster.Settings `json:"settings"`
}

// AcceptResponse names the accepting member, which counts once however often it replies.
type AcceptResponse struct {
	Member  roster.MemberID  `json:"member"`
	Durable bool             `json:"durable"`
	Wall    clustertime.Tick `json:"wall"`                       // the member's wall clock
	Release roster.Release   `json:"release,omitempty,omitzero"` // zero for protocol 1
}

// JoinRequest asks the leader to admit a member to the grid.
type JoinRequest struct {
	Member roster.Member `json:"member"`
	Server string        `json:"server"` // Raft server ID
	// Name is the member's display name.
	Name string `json:"name,omitempty"`
}

// LeaveRequest asks the leader to remove the sender from the grid. The leader confirms it with the
// sender.
type LeaveRequest struct {
	Incarnation roster.Incarnation `json:"incarnation"`
	Server      string             `json:"server"`
	// Failed means that the member cannot receive new rosters, so that it is removed immediately: it could
	// not hand over its partitions.
	Failed bool `json:"failed,omitempty"`
}

// EarlierRequest reports to the leader a grant from the grid's previous run, which ends at Until.
type EarlierRequest struct {
	Until clustertime.Tick `json:"until"`
}

// MemberResponse answers a join, a leave or an earlier grant; Version is the roster's newest.
type MemberResponse struct {
	Version roster.Version `json:"version"`
}

// HeldRequest reports to the leader an owner's caught-up joining replicas, and its tables on disk.
type HeldRequest struct {
	Owner roster.Incarnation `json:"owner"`
	Held  []roster.Holding   `json:"held"`
	// Persisted lists the owner's partitions with tables on disk at every durable in-sync replica.
	Persisted []roster.Persisted `json:"persisted,omitempty"`
	// Unreached are all members that do not answer the owner.
	Unreached []roster.Incarnation `json:"unreached,omitempty"`
}

// InitRequest asks a member of a memory-only grid that lost its majority to recover the grid, together
// with every survivor in its view.
type InitRequest struct {
	Force bool `json:"force"` // false: the answer is an error that describes the effect
	// Floor asserts that no ID has a timestamp above it and that no holder from an earlier run is
	// active; 0 asserts nothing.
	Floor clustertime.Tick `json:"floor_ms"`
	// FirstLife asserts that no holder from an earlier run is active. It is refused if survivors of
	// an earlier grid recover it.
	FirstLife bool `json:"first_life,omitempty"`
}

// InitResponse describes the grid that is being formed.
type InitResponse struct {
	Grid    roster.GridID    `json:"grid"`
	Members int              `json:"members"`  // that form it, including the replying one
	First   clustertime.Tick `json:"first_ms"` // where its grants begin
	// Jump is the part of First that allows for a clock jump that no survivor has
	// seen, 0 with a floor or without survivors.
	Jump clustertime.Span `json:"jump_ms,omitempty"`
}

// AbandonRequest asks a survivor to leave its grid permanently, and to join only the one formed by the
// bootstrap member.
type AbandonRequest struct {
	Old             roster.GridID   `json:"old"`
	Grid            roster.GridID   `json:"grid"`
	BootstrapMember roster.MemberID `json:"founder"`
	Expect          int             `json:"expect"` // survivors that form the new grid
}

// AbandonResponse has the upper limits on grants in the grid that was left.
type AbandonResponse struct {
	Ceiling clustertime.Tick `json:"ceiling_ms"`
	Time    clustertime.Tick `json:"time_ms"`   // cluster time, 0 = unknown
	Window  clustertime.Span `json:"window_ms"` // the largest in any run in the member's record
	Wall    clustertime.Tick `json:"wall"`      // the member's wall clock
	// Registry has the member's known sets, without their members: the new grid assigns no number below theirs.
	numbers.Registry
}
