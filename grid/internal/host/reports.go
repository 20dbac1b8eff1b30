package host

import (
	"context"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// An owner with a caught-up joining replica asks the leader to admit it (R5). An owner with the table
// on disk at all durable in-sync replicas asks the leader to record their disks (D4). Both requests
// are valid for one roster version only; at a later one the replicas are asked again.

const (
	// reportDelay is the time over which requests are batched into one call.
	reportDelay = 5 * time.Millisecond
	reportRetry = 100 * time.Millisecond
	// reportAgain is the interval of repeated reports: the leader may have changed.
	reportAgain = time.Second
)

// reports records the caught-up joining replicas of this member's partitions, and its partitions on
// disk, until they are reported to the leader.
type reports struct {
	mu        sync.Mutex                            // guards the fields below; never held while waiting
	held      map[roster.Replica]roster.Version     // joining replicas that hold their tables (R5)
	persisted map[roster.PartitionID]roster.Version // partitions on the disks of all durable in-sync replicas (D4)
	unreached []roster.Incarnation                  // members that do not answer this one
	reporting bool                                  // a report of all these is in progress
	added     signal.Signal                         // any of them has grown
}

// reportsAt returns the reports recorded at a version or a later one, and deletes the others.
func reportsAt[K comparable, R any](recorded map[K]roster.Version, version roster.Version,
	report func(K, roster.Version) R) (out []R) {
	for k, v := range recorded {
		if v < version {
			delete(recorded, k)
		} else {
			out = append(out, report(k, v))
		}
	}
	return out
}

// worthTelling returns the reports for the leader at a version. Without any, the reporting
// has ended.
func (r *reports) worthTelling(version roster.Version) (req wire.HeldRequest, worth bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	req.Held = reportsAt(r.held, version, func(of roster.Replica, v roster.Version) roster.Holding {
		return roster.Holding{Replica: of, Version: v}
	})
	req.Persisted = reportsAt(r.persisted, version, func(id roster.PartitionID, v roster.Version) roster.Persisted {
		return roster.Persisted{Partition: id, Version: v}
	})
	req.Unreached = r.unreached
	r.reporting = len(req.Held)+len(req.Persisted)+len(req.Unreached) > 0
	return req, r.reporting
}

// ReportHeld implements partition.Member: it reports the replica to the leader, in one
// call with other reports.
func (o *actor) ReportHeld(held roster.Holding) {
	o.host.report(func(r *reports) { r.held[held.Replica] = held.Version })
}

// ReportPersisted implements partition.Member, as ReportHeld does.
func (o *actor) ReportPersisted(p roster.Persisted) {
	o.host.report(func(r *reports) { r.persisted[p.Partition] = p.Version })
}

// report records what add adds to the reports, and starts to send them unless that is in progress.
func (c *reacher) report(add func(*reports)) {
	r := c.reports.Load()
	r.mu.Lock()
	add(r)
	r.added.Send()
	begin := !r.reporting
	r.reporting = true
	r.mu.Unlock()
	if begin {
		c.life.Background(func(ctx context.Context) { c.reportAllHeld(ctx, r) })
	}
}

// reportAllHeld sends reports to the leader, whichever member it is, as long as they count at
// the roster's version: new ones immediately, earlier ones again from time to time.
func (c *reacher) reportAllHeld(ctx context.Context, r *reports) {
	for pause := reportDelay; ; {
		signal.Sleep(ctx, pause)
		req, worth := r.worthTelling(c.state.Roster().Version)
		if !worth || ctx.Err() != nil {
			return
		}
		req.Owner = c.self
		if err := c.cfg.ReportHeld(ctx, req); err != nil {
			c.log.Debug("replica report to the leader failed; retrying", "error", err)
			pause = reportRetry
			continue
		}
		pause = reportDelay
		r.added.Wait(ctx, reportAgain)
	}
}
