package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/logqueue"
)

// Families for a process's handles, in a client or a member.
var (
	holderHandles  = newFamily(gauge, "holder_handles", "Handles of this process; each stripe of a Striped counts.")
	holderAttached = newFamily(gauge, "holder_attached_handles",
		"Handles of this process that have a logical node.")
	holderWaiting = newFamily(gauge, "holder_waiting_calls",
		"Calls of Next or Fill that wait at the moment, for any reason.")
	holderGrantLead = newFamily(gauge, "holder_grant_lead_seconds",
		"Time from now to the end of the grant that ends first; absent without a handle.")
	holderIDs        = newFamily(counter, "holder_ids_total", "IDs issued by handles of this process.", "sequencer")
	holderGrantWaits = newFamily(counter, "holder_grant_waits_total",
		"Calls of Next or Fill that had to wait for a grant.", "sequencer")
	holderGrantWaited = newFamily(counter, "holder_grant_wait_seconds_total",
		"Time that calls of Next or Fill waited for a grant, all together.")
	holderAttach = newFamily(histogram, "holder_attach_duration_seconds",
		"Time of attaches that succeeded, with the retries of each.")
	holderAttachFailures = newFamily(counter, "holder_attach_failures_total", "Attaches that failed.")
	holderRenewals       = newFamily(counter, "holder_renewals_total",
		"Calls that renew the grants of this process at an owner.")
	holderRenewalFailures = newFamily(counter, "holder_renewal_failures_total", "Renewals that had no answer.")
	holderNodesLost       = newFamily(counter, "holder_nodes_lost_total",
		"Logical nodes that the grid gave to another holder because this process was silent for too long.")
	holderMembers = newFamily(gauge, "holder_known_members", "Members that this process knows from the directory.")

	dials        = newFamily(counter, "dials_total", "Attempts to open a connection to a member.")
	dialFailures = newFamily(counter, "dial_failures_total", "Attempts to open a connection to a member that failed.")
	logDropped   = newFamily(counter, "log_lines_dropped_total",
		"Log lines of the process that were dropped because the log did not take them.")
)

var holderFamilies = []*family{
	holderHandles, holderAttached, holderWaiting, holderGrantLead, holderIDs, holderGrantWaits, holderGrantWaited,
	holderAttach,
	holderAttachFailures, holderRenewals, holderRenewalFailures, holderNodesLost, holderMembers, dials, dialFailures,
	logDropped,
}

// ClientSource is a [client.Client].
type ClientSource interface{ Stats() client.Stats }

// ForClient returns a client's collector. Register it once: the collector keeps state between
// scrapes.
func ForClient(c ClientSource) prometheus.Collector { return &clientCollector{of: c} }

// clientCollector is one client's collector.
type clientCollector struct {
	of     ClientSource
	mu     sync.Mutex // one scrape at a time
	holder holder
}

// Describe implements prometheus.Collector.
func (c *clientCollector) Describe(ch chan<- *prometheus.Desc) { describe(ch, holderFamilies) }

// Collect implements prometheus.Collector.
func (c *clientCollector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.of.Stats()
	c.holder.collect(ch, s)
	sink(ch).send(dials, float64(s.Dials))
	sink(ch).send(dialFailures, float64(s.DialFailures))
	sink(ch).send(logDropped, float64(logqueue.Dropped()))
}

// holder produces the metrics for a process's handles.
type holder struct{ busiest busiest }

func (h *holder) collect(to sink, s client.Stats) {
	to.send(holderHandles, float64(s.Handles))
	to.send(holderAttached, float64(s.Attached))
	to.send(holderWaiting, float64(s.WaitingNow))
	if !s.GrantUntil.IsZero() && !s.ClusterTime.IsZero() {
		to.send(holderGrantLead, s.GrantUntil.Sub(s.ClusterTime).Seconds())
	}
	uses := make([]use, len(s.Sequencers))
	for i, q := range s.Sequencers {
		uses[i] = use{name: q.Name, counts: counts{q.IDs, q.GrantWaits}}
	}
	for _, series := range h.busiest.update(time.Now(), counts{s.IDs, s.GrantWaits}, uses) {
		to.send(holderIDs, float64(series.ids), series.name)
		to.send(holderGrantWaits, float64(series.waits), series.name)
	}
	to.send(holderGrantWaited, s.GrantWaited.Seconds())
	to.sendHistogram(holderAttach, s.Attaches)
	to.send(holderAttachFailures, float64(s.AttachFailures))
	to.send(holderRenewals, float64(s.Renewals))
	to.send(holderRenewalFailures, float64(s.RenewalFailures))
	to.send(holderNodesLost, float64(s.NodesLost))
	to.send(holderMembers, float64(s.Members))
}
