package host

import (
	"context"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// An owner whose joining replica holds the table asks the leader to admit it (R5), and
// one whose durable in-sync replicas all have the table on disk asks it to name their
// disks (D4). Both requests are good for one version of the roster only; at a later one
// the replicas are asked again.

const (
	// reportDelay is how long requests are gathered into one call.
	reportDelay = 5 * time.Millisecond
	reportRetry = 100 * time.Millisecond
	// reportAgain is when the leader is told again: it may be another one by then.
	reportAgain = time.Second
)

// reports records which joining replicas of this member's own partitions hold their
// tables, and which of these partitions are on disk, until the leader was told.
type reports struct {
	mu        sync.Mutex                            // guards what follows; never held while waiting
	held      map[roster.Replica]roster.Version     // joining replicas that hold their tables (R5)
	persisted map[roster.PartitionID]roster.Version // partitions on the disks of all durable in-sync replicas (D4)
	unreached []roster.Incarnation                  // members that do not answer this one
	reporting bool                                  // the leader is being told of all these
	added     signal.Signal                         // any of them has grown
}

// reportsAt returns the reports recorded at a version or a later one, and deletes the others.
func reportsAt[K comparable, R any](recorded map[K]roster.Version, version roster.Version, report func(K, roster.Version) R) (out []R) {
	for k, v := range recorded {
		if v < version {
			delete(recorded, k)
		} else {
			out = append(out, report(k, v))
		}
	}
	return out
}

func heldAt(r roster.Replica, v roster.Version) roster.Holding {
	return roster.Holding{Replica: r, Version: v}
}

func persistedAt(id roster.PartitionID, v roster.Version) roster.Persisted {
	return roster.Persisted{Partition: id, Version: v}
}

// newReports returns an empty record of reports.
func newReports() *reports {
	return &reports{held: map[roster.Replica]roster.Version{}, persisted: map[roster.PartitionID]roster.Version{}, added: signal.New()}
}

// hold notes a replica of an own partition, and reports whether the caller has to
// begin to tell the leader.
func (r *reports) hold(held roster.Holding) (begin bool) {
	return r.note(func() { r.held[held.Replica] = held.Version })
}

// persist notes that an own partition is on disk, and reports whether the caller has to
// begin to tell the leader.
func (r *reports) persist(p roster.Persisted) (begin bool) {
	return r.note(func() { r.persisted[p.Partition] = p.Version })
}

// unreach notes the members that do not answer this one, and reports whether the caller has to begin to
// tell the leader.
func (r *reports) unreach(members []roster.Incarnation) (begin bool) {
	return r.note(func() { r.unreached = members })
}

func (r *reports) note(add func()) (begin bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add()
	r.added.Send()
	begin = !r.reporting
	r.reporting = true
	return begin
}

// worthTelling returns the reports for the leader at a version. Without any, the reporting
// has ended.
func (r *reports) worthTelling(version roster.Version) (req wire.HeldRequest, worth bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	req.Held, req.Persisted, req.Unreached = reportsAt(r.held, version, heldAt), reportsAt(r.persisted, version, persistedAt), r.unreached
	r.reporting = len(req.Held)+len(req.Persisted)+len(req.Unreached) > 0
	return req, r.reporting
}

// ReportHeld implements partition.Member: it reports the replica to the leader, in one
// call with other reports.
func (o *actor) ReportHeld(held roster.Holding) {
	if r := o.host.reports.Load(); r.hold(held) {
		o.host.life.Background(func(ctx context.Context) { o.host.reportAllHeld(ctx, r) })
	}
}

// ReportPersisted implements partition.Member, as ReportHeld does.
func (o *actor) ReportPersisted(p roster.Persisted) {
	if r := o.host.reports.Load(); r.persist(p) {
		o.host.life.Background(func(ctx context.Context) { o.host.reportAllHeld(ctx, r) })
	}
}

// reportAllHeld sends reports to the leader, whichever member it is, as long as they count at
// the roster's version: new ones immediately, earlier ones again from time to time.
func (h *Host) reportAllHeld(ctx context.Context, r *reports) {
	for pause := reportDelay; ; {
		signal.Sleep(ctx, pause)
		req, worth := r.worthTelling(h.state.Roster().Version)
		if !worth || ctx.Err() != nil {
			return
		}
		req.Owner = h.self
		if err := h.cfg.ReportHeld(ctx, req); err != nil {
			h.log.Debug("the leader was not told yet which replicas are ready", "error", err)
			pause = reportRetry
			continue
		}
		pause = reportDelay
		r.added.Wait(ctx, reportAgain)
	}
}
