package wire

// PathPush is the call by which the leader tells a member of committed commands
// (package roster/follow). The answer has what that of [PathHello] has. A member of an
// older release does not serve it, and is told by Raft alone.
const PathPush = "/v1/member/push"

// PushRequest has the commands that the member lacks, the roster if the leader no longer has
// those, or neither.
type PushRequest struct {
	Leader   string          `json:"leader"` // Raft server ID of the sender
	Commands []PushedCommand `json:"commands,omitempty"`
	Roster   []byte          `json:"roster,omitempty"` // as in a snapshot; instead of commands
	At       uint64          `json:"at,omitempty"`     // of the roster
	// Echo is Mono of the member's last answer, 0 for none.
	Echo int64 `json:"echo_ms,omitempty"`
	// Age is for how long the sender has known the newest raise, -1 if it does not know.
	Age int64 `json:"age_ms"`
}

// PushedCommand is a command as the log has it, and where.
type PushedCommand struct {
	After   uint64 `json:"after"`
	At      uint64 `json:"at"`
	Command []byte `json:"command"`
}

// PushResponse tells the member's view, and the position of the roster that it serves.
type PushResponse struct {
	Hello HelloResponse `json:"hello"`
	At    uint64        `json:"at"`
	Mono  int64         `json:"mono_ms"` // the member's monotonic clock, above 0
}
