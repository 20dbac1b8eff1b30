package wire

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// PathPush is the call by which the leader pushes committed commands to a member (package
// internal/roster/follow). The reply resembles [PathHello]'s.
const PathPush = "/v1/member/push"

// PathFollow is the call by which a learner, a member with a Raft server outside the configuration,
// starts to follow the leader, at its recorded address. The reply resembles a push. From then on the
// learner accepts pushes with its key.
const PathFollow = "/v1/member/follow"

// FollowRequest requests pushes from the leader.
type FollowRequest struct {
	Incarnation roster.Incarnation `json:"incarnation"` // the learner's
	Key         string             `json:"key"`         // that it drew for this leader, see [MaxKey]
	At          uint64             `json:"at"`          // the position of its served roster
}

// MaxKey is the maximum length of a learner's key, in characters.
const MaxKey = 64

// PushRequest has the commands that the member lacks, the roster if the leader no longer has
// those, or neither.
type PushRequest struct {
	Leader string `json:"leader"` // the sender's Raft server ID
	// Term is the sender's term as leader, 0 if it may have lost the lead.
	Term uint64 `json:"term,omitempty"`
	// Key is the key stated by the member when it started to follow this leader, "" if it did not.
	Key string `json:"key,omitempty"`
	// Voters lists the voting Raft servers, for members that only receive pushes.
	Voters   []string        `json:"voters,omitempty"`
	Commands []PushedCommand `json:"commands,omitempty"`
	Roster   []byte          `json:"roster,omitempty"` // as in a snapshot; instead of commands
	At       uint64          `json:"at,omitempty"`     // the roster's position
	// Offset is the position of Roster within Size bytes if it is sent in several pages, in order. The last
	// page has the effect of a push; Size is 0 for a single page.
	Offset int `json:"offset,omitempty"`
	Size   int `json:"size,omitempty"`
	// Echo is Mono from the member's last reply, 0 for none.
	Echo int64 `json:"echo_ms,omitempty"`
	// Time is the sender's cluster time when it made the push, 0 if unknown.
	Time clustertime.Tick `json:"time,omitempty"`
	// Brief requests a reply without the constant parts: the sender has a full reply from this incarnation.
	Brief bool `json:"brief,omitempty"`
}

// Bounds for a roster that is pushed in pages.
const (
	PushPage  = MaxBody / 2
	MaxRoster = 64 << 20
)

// PushedCommand is a command as the log has it, and where.
type PushedCommand struct {
	After   uint64 `json:"after"`
	At      uint64 `json:"at"`
	Command []byte `json:"command"`
}

// PushResponse has the member's view, and the position of its served roster.
type PushResponse struct {
	Hello *HelloResponse `json:"hello,omitempty"` // nil in a brief answer
	Brief *BriefView     `json:"brief,omitempty"` // nil in another
	At    uint64         `json:"at"`
	Mono  int64          `json:"mono_ms"` // the member's monotonic clock, above 0
}

// BriefView has the parts in a member's view that may change from one reply to the next.
type BriefView struct {
	Version    roster.Version   `json:"version"`
	Wall       clustertime.Tick `json:"wall"`
	Time       clustertime.Tick `json:"time"`
	Leaving    bool             `json:"leaving,omitempty"`
	DiskFailed bool             `json:"disk_failed,omitempty"`
	Claim      roster.Claim     `json:"claim,omitempty"`
}

// Brief returns a view's variable parts.
func (h HelloResponse) Brief() *BriefView {
	return &BriefView{Version: h.Version, Wall: h.Wall, Time: h.Time, Leaving: h.Leaving, DiskFailed: h.DiskFailed,
		Claim: h.Claim}
}

// With returns an earlier view of the same process with its current values.
func (h HelloResponse) With(b BriefView) HelloResponse {
	h.Version, h.Wall, h.Time, h.Claim = b.Version, b.Wall, b.Time, b.Claim
	h.Leaving, h.DiskFailed = b.Leaving, b.DiskFailed
	return h
}
