package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/logqueue"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// MemberSource is a [grid.Member].
type MemberSource interface {
	Status() grid.Status
	Stats() grid.Stats
}

// ForMember returns a member's collector, which includes its own handles. Register it once: the
// collector keeps state between scrapes.
func ForMember(m MemberSource) prometheus.Collector { return &memberCollector{of: m} }

// memberCollector is one member's collector.
type memberCollector struct {
	of      MemberSource
	mu      sync.Mutex // one scrape at a time
	holder  holder
	busiest busiest // sequencers that the member owned
}

// Describe implements prometheus.Collector.
func (c *memberCollector) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, memberFamilies)
	describe(ch, holderFamilies)
}

// Collect implements prometheus.Collector.
func (c *memberCollector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status, stats := c.of.Status(), c.of.Stats()
	to := sink(ch)
	collectGrid(to, status, stats)
	collectTime(to, status, stats)
	collectPartitions(to, status, stats)
	c.collectSequencers(to, status, stats.Holders)
	collectRequests(to, stats.Requests)
	for kind, n := range stats.Refused {
		to.send(refused, float64(n), kind)
	}
	to.sendHistogram(replication, stats.Replication.Calls)
	to.send(replicationLag, stats.Replication.Lag.Seconds())
	to.sendFlag(diskFailed, stats.Disk.Failure != "")
	if stats.Disk.Durable {
		to.sendHistogram(diskWrites, stats.Disk.Raft, "raft")
		to.sendHistogram(diskWrites, stats.Disk.Definitions, "definitions")
	}
	if !stats.CertificateExpiry.IsZero() {
		to.send(certificateExpiry, unix(stats.CertificateExpiry))
	}
	c.holder.collect(to, stats.Handles)
	to.send(dials, float64(stats.Dials))
	to.send(dialFailures, float64(stats.DialFailures))
	to.send(logDropped, float64(logqueue.Dropped()))
}

// unix returns a time in seconds.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// collectGrid sends the release, the members and the alerts.
func collectGrid(to sink, s grid.Status, stats grid.Stats) {
	build := buildinfo.Read()
	to.send(buildInfo, 1, build.Version, build.Commit, build.Go)
	to.send(protocolSupported, float64(roster.CurrentProtocol))
	to.send(protocolInUse, float64(stats.Protocol))
	to.sendFlag(ready, s.Ready)
	to.sendFlag(settled, s.Settled)
	to.sendFlag(hasLeader, s.Leader != "")
	to.sendFlag(leads, stats.Leads)
	alive := 0
	for _, m := range s.Members {
		if m.Alive {
			alive++
		}
	}
	to.send(members, float64(len(s.Members)))
	to.send(membersAlive, float64(alive))
	to.send(voters, float64(s.Voters))
	to.send(votersAlive, float64(s.VotersAlive))
	to.send(foreignMembers, float64(len(s.ForeignMembers)))
	to.send(membersJoined, float64(stats.Partitions.MembersJoined))
	to.send(membersRemoved, float64(stats.Partitions.MembersRemoved))
	holds := map[string]grid.Severity{}
	for _, a := range grid.Alerts(s) {
		holds[a.Name] = a.Severity
	}
	for _, kind := range grid.AlertKinds() {
		for _, severity := range kind.Severities {
			to.sendFlag(alerts, holds[kind.Name] == severity, kind.Name, string(severity))
		}
	}
}

// collectTime sends the ceiling, the clocks and the anchor.
func collectTime(to sink, s grid.Status, stats grid.Stats) {
	to.send(window, s.Settings.Window.Duration().Seconds())
	if !s.ClusterTime.IsZero() {
		to.send(clusterTime, unix(s.ClusterTime))
		to.send(clockOffset, stats.ClockOffset.Seconds())
	}
	if !s.ClusterTime.IsZero() && !s.Ceiling.IsZero() {
		to.send(ceilingLead, s.Ceiling.Sub(s.ClusterTime).Seconds())
	}
	for _, c := range stats.VoterClocks {
		to.send(voterClockOffset, c.Offset.Seconds(), c.Member)
	}
	if s.Anchor != nil && s.Anchor.State != "" {
		to.sendFlag(anchorHeld, s.Anchor.State == string(anchor.Held))
	}
}

// collectPartitions sends the partitions' owners and copies.
func collectPartitions(to sink, s grid.Status, stats grid.Stats) {
	owned, unowned, joining, awaited, inSync := 0, 0, 0, 0, 0
	for _, p := range s.Partitions {
		switch p.Owner {
		case "":
			unowned++
		case stats.Incarnation:
			owned++
		}
		if p.Joining != "" {
			joining++
		}
		if len(p.Awaited) > 0 {
			awaited++
		}
		for _, replica := range p.InSync {
			if replica == stats.Incarnation {
				inSync++
			}
		}
	}
	missing, _ := s.MissingCopies()
	to.send(partitions, float64(len(s.Partitions)))
	to.send(partitionsOwned, float64(owned))
	to.send(partitionsUnowned, float64(unowned))
	to.send(partitionsAwaited, float64(awaited))
	to.send(replicas, float64(inSync))
	to.send(copiesMissing, float64(missing))
	to.send(copiesJoining, float64(joining))
	to.send(moves, float64(stats.Partitions.Moves))
	to.send(takeovers, float64(stats.Partitions.Takeovers))
	to.send(losses, float64(stats.Partitions.Losses))
}

// collectSequencers sends the sequencers in partitions that the member owns: the busiest by name,
// and the others together.
func (c *memberCollector) collectSequencers(to sink, s grid.Status, used grid.Usage) {
	var uses []use
	listed := map[string]bool{}
	for _, u := range used.Sequencers {
		listed[u.Name] = true
		uses = append(uses, use{u.Name, counts{u.IDs, u.Waits}})
	}
	for _, q := range s.Sequencers {
		if !listed[q.Name] {
			uses = append(uses, use{q.Name, counts{q.IDs, q.Waits}})
		}
	}
	for _, series := range c.busiest.update(time.Now(), counts{used.IDs, used.Waits}, uses) {
		to.send(sequencerIDs, float64(series.ids), series.name)
		to.send(sequencerWaits, float64(series.waits), series.name)
	}
	to.send(sequencers, float64(len(s.Sequencers)))
	var others nodes
	for _, q := range s.Sequencers {
		n := nodes{all: q.Nodes, attached: q.Attached, exhausted: q.Exhausted}
		if c.busiest.hasSeries(q.Name) {
			n.send(to, q.Name)
		} else {
			others.add(n)
		}
	}
	others.send(to, otherName)
}

// nodes are sequencers' logical nodes, and the earliest end among their epochs.
type nodes struct {
	all, attached int
	exhausted     time.Time
}

func (n *nodes) add(o nodes) {
	n.all += o.all
	n.attached += o.attached
	if n.exhausted.IsZero() || o.exhausted.Before(n.exhausted) {
		n.exhausted = o.exhausted
	}
}

func (n *nodes) send(to sink, name string) {
	to.send(sequencerNodes, float64(n.all), name)
	to.send(sequencerAttached, float64(n.attached), name)
	to.send(sequencerFree, float64(n.all-n.attached), name)
	if !n.exhausted.IsZero() {
		to.send(sequencerExhausted, unix(n.exhausted), name)
	}
}

// collectRequests sends the API's requests and connections.
func collectRequests(to sink, r grid.RequestStats) {
	for _, one := range r.ByCode {
		to.send(requests, float64(one.Count), one.Path, one.Code)
	}
	to.send(inProgress, float64(r.InProgress))
	to.send(shed, float64(r.ShedRequests), "request")
	to.send(shed, float64(r.ShedStreams), "stream")
	to.send(shed, float64(r.RefusedConnections), "connection")
	to.send(shed, float64(r.DroppedHandshakes), "handshake")
	to.send(streams, float64(r.Streams))
	to.send(connections, float64(r.Connections))
	to.send(accepted, float64(r.Accepted))
	to.sendHistogram(attaches, r.Attaches)
}
