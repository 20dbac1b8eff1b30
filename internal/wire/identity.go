package wire

import (
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Calls for the numbers of processes. A process gets its number in these steps, and keeps
// it for good:
//
//	next      the number to apply for; allocates nothing
//	apply     the number, with a random code that the process has stored before: accepted
//	          for the next number, and again for the same number with the same code
//	register  at each start, with number and code: the incarnation of this start, and
//	          again every AgainMS as a sign of life
//
// clean, import and list are for operators.

// Limits for the number calls.
const (
	MaxNumbers        = 1000 // numbers in one clean or import, and members in one answer
	MaxPreferredNodes = 32   // logical nodes that one registration names
)

// Identity is a process's registered identity in requests to partition owners. They refuse an
// incarnation before the registered one (numbers.ErrFenced) and a number without a registration
// (numbers.ErrNotRegistered).
type Identity struct {
	Cluster     string `json:"cluster"`
	Set         string `json:"set"`
	ID          uint64 `json:"id"`
	Incarnation uint64 `json:"incarnation"`
}

// IdentityNextRequest requests a set's next number.
type IdentityNextRequest struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"` // the set's name
	Relay
}

// IdentityNextResponse has a set's next number: 1 if the set is unknown.
type IdentityNextResponse struct {
	Next uint64 `json:"next"`
}

// IdentityApplyRequest applies for a number. Repeating it with the same code is safe.
// Errors: numbers.ErrIDRefused, as a *numbers.RefusedID with the next number.
type IdentityApplyRequest struct {
	Cluster string       `json:"cluster"`
	Name    string       `json:"name"`
	ID      uint64       `json:"id"`
	Code    numbers.Code `json:"code"` // random, not zero
	Addr    string       `json:"addr,omitempty"`
	Relay
}

// IdentityApplyResponse confirms that the process with the request's code has the number.
type IdentityApplyResponse struct {
	ID   uint64 `json:"id"`
	Next uint64 `json:"next"`
}

// IdentityRegisterRequest registers a process with a number, and proves that it is alive. Errors:
// numbers.ErrNotRegistered, numbers.ErrFenced, ErrProtocol.
type IdentityRegisterRequest struct {
	Cluster string       `json:"cluster"`
	Name    string       `json:"name"`
	ID      uint64       `json:"id"`
	Code    numbers.Code `json:"code"`
	Addr    string       `json:"addr,omitempty"` // where the process is now
	// Protocol is the process's protocol version, 0 = unstated.
	Protocol int `json:"protocol,omitempty"`
	// Start is random and drawn once by the process, so that repeating the request does
	// not hand out another incarnation. Zero: each request is another process's.
	Start numbers.Code `json:"start,omitempty,omitzero"`
	// Incarnation comes from this process's first registration, 0 in that one. With it the request is a sign
	// of life, and fails as fenced if a later incarnation exists.
	Incarnation uint64 `json:"incarnation,omitempty"`
	// Member is the member ID if the process is a grid member, "" for a client.
	Member roster.MemberID `json:"member,omitempty"`
	// Nodes are the logical nodes that the process has now, by sequencer, at most
	// MaxPreferredNodes. The leader returns them to a later start.
	Nodes map[string]sequencer.NodeID `json:"nodes,omitempty"`
	Relay
}

// IdentityRegisterResponse is the registration.
type IdentityRegisterResponse struct {
	// Incarnation exceeds every earlier process's incarnation under the number. The process sends
	// it in its requests ([Identity]).
	Incarnation uint64 `json:"incarnation"`
	// AgainMS is after how many milliseconds the process registers again, with its
	// incarnation, to count as alive.
	AgainMS int64 `json:"again_ms"`
	// Members lists the set's first MaxNumbers processes, by ID, including this one. Empty in the
	// reply to a sign of life.
	Members []IdentityMember `json:"members,omitempty"`
	// Nodes maps sequencers to the logical nodes last held by the earlier process with this number: preferred
	// in attaches. Empty if the leader has no record.
	Nodes map[string]sequencer.NodeID `json:"nodes,omitempty"`
}

// IdentityCleanRequest removes terminated processes' numbers. The numbers are not reused. Errors:
// numbers.ErrAlive, numbers.ErrUnknownSet.
type IdentityCleanRequest struct {
	Cluster string   `json:"cluster"`
	Name    string   `json:"name"`
	IDs     []uint64 `json:"ids"`             // 1 to MaxNumbers
	Force   bool     `json:"force,omitempty"` // also numbers of live processes
	Relay
}

// IdentityCleanResponse has the removed numbers, sorted, without unassigned ones.
type IdentityCleanResponse struct {
	Removed []uint64 `json:"removed"`
}

// IdentityDropRequest removes a set without numbers, to make room for others. A later set with the
// same name continues with its next number. Errors: numbers.ErrUnknownSet, ErrNotNow while it has
// numbers.
type IdentityDropRequest struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	Relay
}

// IdentityDropResponse has the number with which a later set with the name would continue.
type IdentityDropResponse struct {
	Next uint64 `json:"next"`
}

// IdentityImportRequest restores numbers that the grid lost with its data, so that the
// processes that have them on their disks can register again.
type IdentityImportRequest struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	// Next is the least number that the set may give next; the set takes it, one above
	// the largest imported number, or its own, whichever is largest. 0 = unstated.
	Next uint64 `json:"next,omitempty"`
	// Incarnation is the greatest that the set gave before; the imported processes get later ones. 0 = unstated.
	Incarnation uint64 `json:"incarnation,omitempty"`
	// Members lists at most MaxNumbers numbers to import. One without a code belongs to the first
	// process that registers with it.
	Members []numbers.Application `json:"members,omitempty"`
	Relay
}

// IdentityImportResponse is the set after an import.
type IdentityImportResponse struct {
	Next    uint64 `json:"next"`
	Members int    `json:"members"` // in the set
}

// IdentityListRequest requests sets: one by Cluster and Name, a cluster's, or all.
type IdentityListRequest struct {
	Cluster string `json:"cluster,omitempty"`
	Name    string `json:"name,omitempty"`
	After   uint64 `json:"after,omitempty"` // with a single set: only members with a larger ID
	Relay
}

// IdentityListResponse has sets by cluster and name. Members are listed if one set was requested.
type IdentityListResponse struct {
	Sets []IdentitySet `json:"sets"`
}

// IdentitySet is a set.
type IdentitySet struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	Next    uint64 `json:"next"`
	Count   int    `json:"count"` // processes that have a number
	// Incarnation is the greatest that the set has given, 0 before the first registration.
	Incarnation uint64 `json:"incarnation,omitempty"`
	// Members has at most MaxNumbers entries, by ID; More means that later ones exist.
	Members []IdentityMember `json:"members,omitempty"`
	More    bool             `json:"more,omitempty"`
}

// IdentityMember is a process that has a number.
type IdentityMember struct {
	ID          uint64 `json:"id"`
	Addr        string `json:"addr,omitempty"`
	Incarnation uint64 `json:"incarnation"`
	State       string `json:"state"` // applied, registered or imported: see numbers.Process.State
	// Alive reports whether the process runs, nil if the leader has only just been elected.
	Alive *bool `json:"alive"`
	// Member is the member ID if the process is a grid member, "" for a client.
	Member roster.MemberID `json:"member,omitempty"`
	// Role is "leader" for the member that leads the grid. The number stays its own.
	Role string `json:"role,omitempty"`
}
