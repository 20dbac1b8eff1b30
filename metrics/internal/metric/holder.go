package metric

import (
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/logqueue"
)

// Families for a process's handles, in a client or a member.
var (
	holderHandles  = Gauge("holder_handles", "Handles of this process; each stripe of a Striped counts.")
	holderAttached = Gauge("holder_attached_handles",
		"Handles of this process that have a logical node.")
	holderWaiting = Gauge("holder_waiting_calls",
		"Calls of Next or Fill that wait at the moment, for any reason.")
	holderGrantLead = Gauge("holder_grant_lead_seconds",
		"Time from now to the end of the grant that ends first; absent without a handle.")
	holderIDs        = Counter("holder_ids_total", "IDs issued by handles of this process.", "sequencer")
	holderGrantWaits = Counter("holder_grant_waits_total",
		"Calls of Next or Fill that had to wait for a grant.", "sequencer")
	holderGrantWaited = Counter("holder_grant_wait_seconds_total",
		"Time that calls of Next or Fill waited for a grant, all together.")
	holderAttach = Histogram("holder_attach_duration_seconds",
		"Time of attaches that succeeded, with the retries of each.")
	holderAttachFailures = Counter("holder_attach_failures_total", "Attaches that failed.")
	holderRenewals       = Counter("holder_renewals_total",
		"Calls that renew the grants of this process at an owner.")
	holderRenewalFailures = Counter("holder_renewal_failures_total", "Renewals that had no answer.")
	holderNodesLost       = Counter("holder_nodes_lost_total",
		"Logical nodes that the grid gave to another holder because this process was silent for too long.")
	holderMembers = Gauge("holder_known_members", "Members that this process knows from the directory.")

	dials        = Counter("dials_total", "Attempts to open a connection to a member.")
	dialFailures = Counter("dial_failures_total", "Attempts to open a connection to a member that failed.")
	logDropped   = Counter("log_lines_dropped_total",
		"Log lines of the process that were dropped because the log did not take them.")
)

// HolderFamilies are the families for the handles of a process, and for its connections and log.
var HolderFamilies = []*Family{
	holderHandles, holderAttached, holderWaiting, holderGrantLead, holderIDs, holderGrantWaits, holderGrantWaited,
	holderAttach,
	holderAttachFailures, holderRenewals, holderRenewalFailures, holderNodesLost, holderMembers, dials, dialFailures,
	logDropped,
}

// Holder produces the metrics for a process's handles. The zero value is ready.
type Holder struct{ busiest Busiest }

// Collect sends the metrics of a process with these counts and attempts to open connections.
func (h *Holder) Collect(to Sink, s client.Stats, attempts, failures uint64) {
	to.Send(holderHandles, float64(s.Handles))
	to.Send(holderAttached, float64(s.Attached))
	to.Send(holderWaiting, float64(s.WaitingNow))
	if !s.GrantUntil.IsZero() && !s.ClusterTime.IsZero() {
		to.Send(holderGrantLead, s.GrantUntil.Sub(s.ClusterTime).Seconds())
	}
	uses := make([]Use, len(s.Sequencers))
	for i, q := range s.Sequencers {
		uses[i] = Use{Name: q.Name, Counts: Counts{q.IDs, q.GrantWaits}}
	}
	for _, series := range h.busiest.Update(time.Now(), Counts{s.IDs, s.GrantWaits}, uses) {
		to.Send(holderIDs, float64(series.IDs), series.Name)
		to.Send(holderGrantWaits, float64(series.Waits), series.Name)
	}
	to.Send(holderGrantWaited, s.GrantWaited.Seconds())
	to.SendHistogram(holderAttach, s.Attaches)
	to.Send(holderAttachFailures, float64(s.AttachFailures))
	to.Send(holderRenewals, float64(s.Renewals))
	to.Send(holderRenewalFailures, float64(s.RenewalFailures))
	to.Send(holderNodesLost, float64(s.NodesLost))
	to.Send(holderMembers, float64(s.Members))
	to.Send(dials, float64(attempts))
	to.Send(dialFailures, float64(failures))
	to.Send(logDropped, float64(logqueue.Dropped()))
}
