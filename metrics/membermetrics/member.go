// Package membermetrics provides Prometheus metrics for a grid member, with those of its handles, which package
// metrics has for a client:
//
//	registry.MustRegister(membermetrics.ForMember(member))
//
// The agent serves the same at /metrics on its --ops-addr. docs/metrics.md and docs/member-metrics.md list every
// metric. At each scrape the collector reads [grid.Member.Status] and [grid.Member.Stats].
//
// Series of sequencers are as in package metrics. When a partition moves, the earlier owner's series stays and the
// new owner's begins at 0, so sum by (sequencer) (rate(...)) is the sequencer's rate. Gauges, such as logical nodes,
// cover the sequencers that a member owns now.
package membermetrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/metrics/internal/metric"
)

// MemberSource is a [grid.Member].
type MemberSource interface {
	Status() grid.Status
	Stats() grid.Stats
}

// ForMember returns a member's collector, which includes its own handles. Register it once: the
// collector keeps state between scrapes.
func ForMember(m MemberSource) prometheus.Collector { return &memberCollector{of: m} }

type memberCollector struct {
	of      MemberSource
	mu      sync.Mutex // one scrape at a time
	holder  metric.Holder
	busiest metric.Busiest // sequencers that the member owned
}

func (c *memberCollector) Describe(ch chan<- *prometheus.Desc) {
	metric.Describe(ch, memberFamilies)
	metric.Describe(ch, metric.HolderFamilies)
}

func (c *memberCollector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status, stats := c.of.Status(), c.of.Stats()
	to := metric.Sink(ch)
	collectGrid(to, status, stats)
	collectTime(to, status, stats)
	collectPartitions(to, status, stats)
	c.collectSequencers(to, status, stats.Holders)
	collectRequests(to, stats.Requests)
	for kind, n := range stats.Refused {
		to.Send(refused, float64(n), kind)
	}
	to.SendHistogram(replication, stats.Replication.Calls)
	to.Send(replicationLag, stats.Replication.Lag.Seconds())
	to.SendFlag(diskFailed, stats.Disk.Failure != "")
	if stats.Disk.Durable {
		to.SendHistogram(diskWrites, stats.Disk.Raft, "raft")
		to.SendHistogram(diskWrites, stats.Disk.Definitions, "definitions")
	}
	if !stats.CertificateExpiry.IsZero() {
		to.Send(certificateExpiry, unix(stats.CertificateExpiry))
	}
	c.holder.Collect(to, stats.Handles, stats.Dials, stats.DialFailures)
}

// unix returns a time in seconds.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// collectGrid sends the release, the members and the alerts.
func collectGrid(to metric.Sink, s grid.Status, stats grid.Stats) {
	build := buildinfo.Read()
	to.Send(buildInfo, 1, build.Version, build.Commit, build.Go)
	to.Send(protocolSupported, float64(roster.CurrentProtocol))
	to.Send(protocolInUse, float64(stats.Protocol))
	to.SendFlag(ready, s.Ready)
	to.SendFlag(settled, s.Settled)
	to.SendFlag(hasLeader, s.Leader != "")
	to.SendFlag(leads, stats.Leads)
	alive := 0
	for _, m := range s.Members {
		if m.Alive {
			alive++
		}
	}
	to.Send(members, float64(len(s.Members)))
	to.Send(membersAlive, float64(alive))
	to.Send(voters, float64(s.Voters))
	to.Send(votersAlive, float64(s.VotersAlive))
	to.Send(foreignMembers, float64(len(s.ForeignMembers)))
	to.Send(membersJoined, float64(stats.Partitions.MembersJoined))
	to.Send(membersRemoved, float64(stats.Partitions.MembersRemoved))
	holds := map[string]grid.Severity{}
	for _, a := range grid.Alerts(s) {
		holds[a.Name] = a.Severity
	}
	for _, kind := range grid.AlertKinds() {
		for _, severity := range kind.Severities {
			to.SendFlag(alerts, holds[kind.Name] == severity, kind.Name, string(severity))
		}
	}
}

// collectTime sends the ceiling, the clocks and the anchor.
func collectTime(to metric.Sink, s grid.Status, stats grid.Stats) {
	to.Send(window, s.Settings.Window.Duration().Seconds())
	if !s.ClusterTime.IsZero() {
		to.Send(clusterTime, unix(s.ClusterTime))
		to.Send(clockOffset, stats.ClockOffset.Seconds())
	}
	if !s.ClusterTime.IsZero() && !s.Ceiling.IsZero() {
		to.Send(ceilingLead, s.Ceiling.Sub(s.ClusterTime).Seconds())
	}
	for _, c := range stats.VoterClocks {
		to.Send(voterClockOffset, c.Offset.Seconds(), c.Member)
	}
	if s.Anchor != nil && s.Anchor.State != "" {
		to.SendFlag(anchorHeld, s.Anchor.State == string(anchor.Held))
	}
}

// collectPartitions sends the partitions' owners and copies.
func collectPartitions(to metric.Sink, s grid.Status, stats grid.Stats) {
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
	to.Send(partitions, float64(len(s.Partitions)))
	to.Send(partitionsOwned, float64(owned))
	to.Send(partitionsUnowned, float64(unowned))
	to.Send(partitionsAwaited, float64(awaited))
	to.Send(replicas, float64(inSync))
	to.Send(copiesMissing, float64(missing))
	to.Send(copiesJoining, float64(joining))
	to.Send(moves, float64(stats.Partitions.Moves))
	to.Send(takeovers, float64(stats.Partitions.Takeovers))
	to.Send(losses, float64(stats.Partitions.Losses))
}

// collectSequencers sends the sequencers in partitions that the member owns: the busiest by name,
// and the others together.
func (c *memberCollector) collectSequencers(to metric.Sink, s grid.Status, used grid.Usage) {
	var uses []metric.Use
	listed := map[string]bool{}
	for _, u := range used.Sequencers {
		listed[u.Name] = true
		uses = append(uses, metric.Use{Name: u.Name, Counts: metric.Counts{IDs: u.IDs, Waits: u.Waits}})
	}
	for _, q := range s.Sequencers {
		if !listed[q.Name] {
			uses = append(uses, metric.Use{Name: q.Name, Counts: metric.Counts{IDs: q.IDs, Waits: q.Waits}})
		}
	}
	for _, series := range c.busiest.Update(time.Now(), metric.Counts{IDs: used.IDs, Waits: used.Waits}, uses) {
		to.Send(sequencerIDs, float64(series.IDs), series.Name)
		to.Send(sequencerWaits, float64(series.Waits), series.Name)
	}
	to.Send(sequencers, float64(len(s.Sequencers)))
	var others nodes
	for _, q := range s.Sequencers {
		n := nodes{all: q.NodeRange.Count(q.Nodes), attached: q.Attached, exhausted: q.Exhausted}
		if c.busiest.HasSeries(q.Name) {
			n.send(to, q.Name)
			continue
		}
		others.all += n.all
		others.attached += n.attached
		if others.exhausted.IsZero() || n.exhausted.Before(others.exhausted) {
			others.exhausted = n.exhausted
		}
	}
	others.send(to, metric.OtherName)
}

// nodes are sequencers' logical nodes, and the earliest end among their epochs.
type nodes struct {
	all, attached int
	exhausted     time.Time
}

func (n *nodes) send(to metric.Sink, name string) {
	to.Send(sequencerNodes, float64(n.all), name)
	to.Send(sequencerAttached, float64(n.attached), name)
	to.Send(sequencerFree, float64(n.all-n.attached), name)
	if !n.exhausted.IsZero() {
		to.Send(sequencerExhausted, unix(n.exhausted), name)
	}
}

// collectRequests sends the API's requests and connections.
func collectRequests(to metric.Sink, r grid.RequestStats) {
	for _, one := range r.ByCode {
		to.Send(requests, float64(one.Count), one.Path, one.Code)
	}
	to.Send(inProgress, float64(r.InProgress))
	to.Send(shed, float64(r.ShedRequests), "request")
	to.Send(shed, float64(r.ShedStreams), "stream")
	to.Send(shed, float64(r.RefusedConnections), "connection")
	to.Send(shed, float64(r.DroppedHandshakes), "handshake")
	to.Send(streams, float64(r.Streams))
	to.Send(connections, float64(r.Connections))
	to.Send(accepted, float64(r.Accepted))
	to.SendHistogram(attaches, r.Attaches)
}
