package grid

import (
	"net/http"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/measure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// Stats are the counts and measurements of a member since it was started, for metrics; see
// package metrics. Counts never go down.
type Stats struct {
	Incarnation string
	Leads       bool
	Protocol    int // the roster's protocol

	// Handles are the counts of the member's own handles.
	Handles client.Stats
	// Holders is the use of the sequencers that this member owned, as reported by their holders.
	Holders Usage

	// Refused counts rejections of holders by limits. It has every kind: names and memory (new
	// sequencers), holder-nodes and peer-nodes (logical nodes of a process or a credential), calls.
	Refused map[string]uint64

	Requests    RequestStats
	Partitions  PartitionStats
	Replication ReplicationStats
	Disk        DiskStats

	// Dials are attempts to open a connection to another member, and DialFailures the failed ones.
	Dials, DialFailures uint64
	// ClockOffset is the lead of this member's wall clock over cluster time, 0 while cluster time is unknown.
	ClockOffset time.Duration
	// VoterClocks are the voters' clocks, by member, on the leader alone.
	VoterClocks []VoterClock
	// CertificateExpiry is the end of the member's certificate, or of its authority if that is
	// first; zero without TLS.
	CertificateExpiry time.Time
}

// Usage is the use of the sequencers that a member owned since it started, as their holders
// have reported it: IDs issued, and calls that had to wait for a grant. Holders of earlier
// releases report nothing, and a report that gets lost is not repeated.
type Usage struct {
	IDs, Waits uint64          // of all sequencers
	Sequencers []SequencerUsed // the busiest, those with the most IDs lately first
}

// SequencerUsed is the reported use of one sequencer: IDs issued, and calls that had to wait for a
// grant.
type SequencerUsed struct {
	Name       string
	IDs, Waits uint64
}

// usageOf converts the use that the holders reported.
func usageOf(all wire.Used, busiest []wire.Used) Usage {
	out := Usage{IDs: all.IDs, Waits: all.Waits}
	for _, used := range busiest {
		out.Sequencers = append(out.Sequencers, SequencerUsed(used))
	}
	return out
}

// RequestStats are the requests and connections of the member's API.
type RequestStats struct {
	ByCode     []RequestCount // by path and code
	InProgress int            // requests from holders, served or waiting
	// ShedRequests and ShedStreams were refused because the member, or the connection, had
	// too many.
	ShedRequests, ShedStreams uint64
	// RefusedConnections were too many, of one address or certificate or in all;
	// DroppedHandshakes were not finished when others needed their place.
	RefusedConnections, DroppedHandshakes uint64
	Streams                               int    // open event streams
	Connections                           int    // open
	Accepted                              uint64 // connections
	// Attaches are the durations of the attaches that this member answered as an owner.
	Attaches client.Distribution
}

// RequestCount is the number of requests by path and result code: "ok", an error's code, "unready"
// for a failed health check, or "none" without a reply. The path of requests for others than the
// API is "other".
type RequestCount struct {
	Path, Code string
	Count      uint64
}

// PartitionStats are changes of the roster that this member has seen agreed on.
type PartitionStats struct {
	// Moves are planned changes of a partition's owner, Takeovers are replacements of a dead or
	// silent owner, and Losses are partitions without any copy left.
	Moves, Takeovers, Losses uint64
	MembersJoined            uint64
	MembersRemoved           uint64
}

// ReplicationStats are the updates that this member sent to replicas as an owner.
type ReplicationStats struct {
	Calls client.Distribution // that a replica acknowledged
	// Lag is for how long the slowest in-sync replica has not acknowledged an update; 0 if
	// all have acknowledged all.
	Lag time.Duration
}

// DiskStats are the writes to the data directory, each with its sync; empty without one.
type DiskStats struct {
	Durable     bool
	Raft        client.Distribution
	Definitions client.Distribution
	Failure     string // why the member takes part no longer, "" without a failure
}

// distributionOf reads a histogram; nil is empty.
func distributionOf(h *measure.Histogram) (d client.Distribution) {
	d.Count, d.Sum, d.Buckets = measure.Read[client.Bucket](h)
	return d
}

// Stats returns the member's counts.
func (m *Member) Stats() Stats {
	changes, requests, hosted := m.state.Counts(), m.api.Counts(), m.host.Counts()
	s := Stats{
		Incarnation: string(m.self), Leads: m.raft.Node().Leads(), Protocol: int(m.state.Roster().InUse()),
		Handles: m.handles.Stats(), Holders: usageOf(m.host.Usage()), Refused: map[string]uint64{},
		Requests: RequestStats{
			InProgress: requests.InProgress, ShedRequests: requests.ShedRequests, ShedStreams: requests.ShedStreams,
			RefusedConnections: requests.RefusedConnections, DroppedHandshakes: requests.DroppedHandshakes,
			Streams: requests.Streams, Connections: requests.Connections, Accepted: requests.Accepted,
			Attaches: distributionOf(hosted.Attaches),
		},
		Partitions: PartitionStats{
			Moves: changes.Moves, Takeovers: changes.Takeovers, Losses: changes.Losses, MembersJoined: changes.Joins,
			MembersRemoved: changes.Removals,
		},
		Replication: ReplicationStats{Calls: distributionOf(hosted.Replications), Lag: hosted.ReplicationLag},
		Disk: DiskStats{Durable: m.durable(), Raft: distributionOf(m.stores.Disk.Writes()),
			Definitions: distributionOf(hosted.DefinitionWrites)},
		VoterClocks: m.leadership.voterClocks(), CertificateExpiry: m.creds.expiry(),
	}
	for kind, n := range hosted.Refused {
		s.Refused[string(kind)] = n
	}
	for _, r := range requests.Requests {
		s.Requests.ByCode = append(s.Requests.ByCode, RequestCount(r))
	}
	s.Dials, s.DialFailures = m.http.Dials()
	if err := m.raft.DiskFailure(); err != nil {
		s.Disk.Failure = err.Error()
	}
	if now := m.clock.Now(); now > 0 {
		s.ClockOffset = clustertime.TickOf(m.cfg.Clock.Now()).Sub(now).Duration()
	}
	return s
}

// HealthHandler serves GET /livez and GET /readyz as a member's API does, for a listener of the
// embedding program.
func HealthHandler(m *Member) http.Handler {
	return m.api.Health()
}

// voterClocks returns the voters' clocks, this member's among them, if this member leads.
func (o *leadership) voterClocks() (out []VoterClock) {
	node := o.raft.Node()
	if now := o.clock.Now(); node.Leads() && now > 0 {
		o.clocks.note(o.self, clustertime.TickOf(o.cfg.Clock.Now()).Sub(now).Duration(), o.clock.Mono())
		voters := map[raft.ServerID]bool{}
		servers, _ := node.Servers()
		for _, server := range servers {
			voters[server.ID] = server.Suffrage == raft.Voter
		}
		r := o.state.Roster()
		for _, c := range o.clocks.read(o.clock.Mono()) {
			m, member := r.Member(roster.Incarnation(c.Member))
			if member && voters[raftlog.ServerID(m.Incarnation, m.Durable)] {
				out = append(out, c)
			}
		}
	}
	return out
}
