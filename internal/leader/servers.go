package leader

import (
	"strings"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// ServerID is a member's name in Raft.
type ServerID string

// ServerOf returns a member's name in Raft. A durable member keeps it with its log; a
// volatile one is another server at each start, since a server that forgets its log
// would take back votes and acknowledgements that it gave.
func ServerOf(i roster.Incarnation, durable bool) ServerID {
	if durable {
		return ServerID(i.Member())
	}
	return ServerID(i)
}

// IsDurable reports whether a server keeps its log across restarts.
func (id ServerID) IsDurable() bool { return !strings.Contains(string(id), "-") }

// Server is a Raft server. A few members have a voting server, some have a standby server,
// and all others are learners: see standby.go.
type Server struct {
	ID    ServerID
	Voter bool
}

// VotersFor returns the number of voters of a grid with n members whose settings limit the voters
// to most: the largest odd number within both. An even number adds no tolerance: four survive the
// loss of one, like three.
func VotersFor(n, most int) int {
	votes := min(n, most)
	return max(1, votes-(votes+1)%2)
}

// Operation is a change of one Raft server.
type Operation uint8

// The operations.
const (
	AddServer Operation = iota + 1
	Promote
	Demote
	Remove
)

// Reconfiguration is a change of Raft's servers, one server at a time.
type Reconfiguration struct {
	Do     Operation
	Server ServerID
	Member roster.Member // whose server it is, for AddServer
}
