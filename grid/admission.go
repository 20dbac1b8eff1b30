package grid

import (
	"context"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/partition"
)

// An owner whose joining replica holds the table asks the leader to admit it. The
// request is good for one version of the roster only; at a later one the replica
// is asked again (R5).

const (
	// admissionDelay is how long requests are gathered into one call.
	admissionDelay = 5 * time.Millisecond
	admissionRetry = 100 * time.Millisecond
	// admissionAgain is when the leader is told again: it may be another one.
	admissionAgain = time.Second
)

// admissions records which joining replicas hold their tables, at the owner that
// knows it and at the leader that admits them. Its zero value is ready.
type admissions struct {
	mu        sync.Mutex // guards what follows; never held while waiting
	held      holdings   // of this member's own partitions
	joined    holdings   // at the leader: of all partitions, as their owners told
	reporting bool       // the leader is being told of held
	added     signal     // held has grown
}

// holdings are joining replicas that hold their tables, by the version at which.
type holdings map[partition.Replica]partition.Version

// at returns the replicas noted at a version or a later one, and forgets the others.
func (h holdings) at(version partition.Version) []partition.Holding {
	var out []partition.Holding
	for r, v := range h {
		if v < version {
			delete(h, r)
		} else {
			out = append(out, partition.Holding{Replica: r, Version: v})
		}
	}
	return out
}

// newAdmissions returns admissions without any replica.
func newAdmissions() *admissions {
	return &admissions{held: holdings{}, joined: holdings{}, added: newSignal()}
}

// hold notes a replica of an own partition, and reports whether the caller has to
// begin to tell the leader.
func (a *admissions) hold(h partition.Holding) (begin bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[h.Replica] = h.Version
	a.added.send()
	begin = !a.reporting
	a.reporting = true
	return begin
}

// worthTelling returns what the leader is to be told at a version. With nothing
// left the telling has ended.
func (a *admissions) worthTelling(version partition.Version) []partition.Holding {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.held.at(version)
	a.reporting = len(out) > 0
	return out
}

// ready returns, at the leader, the joining replicas that may be admitted at a
// version.
func (a *admissions) ready(version partition.Version) []partition.Holding {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.joined.at(version)
}

// reportHeld has the leader told, together with what else there is to tell.
func (m *Member) reportHeld(h partition.Holding) {
	if a := m.admissions.Load(); a.hold(h) {
		m.background(func(ctx context.Context) { m.reportAllHeld(ctx, a) })
	}
}

// reportAllHeld tells the leader, whichever member it is, as long as the roster's
// version makes it worth telling: immediately of what is new, now and then of what
// it may have forgotten.
func (m *Member) reportAllHeld(ctx context.Context, a *admissions) {
	for pause := admissionDelay; ; {
		sleep(ctx, pause)
		req := wire.HeldRequest{Owner: m.self, Held: a.worthTelling(m.roster.Load().Version)}
		if len(req.Held) == 0 || ctx.Err() != nil {
			return
		}
		if err := m.reportTo(ctx, req); err != nil {
			m.log.Debug("the leader was not told yet which replicas are ready", "error", err)
			pause = admissionRetry
			continue
		}
		pause = admissionDelay
		a.added.wait(ctx, admissionAgain)
	}
}

// reportTo tells the leader, which may be this member.
func (m *Member) reportTo(ctx context.Context, req wire.HeldRequest) error {
	if m.node().leads() {
		_, err := m.serveHeld(ctx, req)
		return err
	}
	return m.atLeader(ctx, wire.PathHeld, req)
}

// serveHeld notes, at the leader, which joining replicas hold their tables, and
// wakes its step. A report that is not by the owner, or of another version than the
// roster's, is of no use.
func (m *Member) serveHeld(_ context.Context, in wire.HeldRequest) (wire.MemberResponse, error) {
	if !m.node().leads() {
		return wire.MemberResponse{}, errNotLeader
	}
	r, a := m.roster.Load(), m.admissions.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range in.Held {
		if int(h.Partition) >= len(r.Partitions) {
			return wire.MemberResponse{}, invalid("there is no partition %d, only %d of them", h.Partition, len(r.Partitions))
		}
		if h.Version > r.Version {
			return wire.MemberResponse{}, failure.Errorf(errNotLeader, "grid: the leader has applied version %d only", r.Version)
		}
		if h.Version == r.Version && r.Partitions[h.Partition].Owner == in.Owner {
			a.joined[h.Replica] = h.Version
			m.leadNow.send()
		}
	}
	return wire.MemberResponse{Version: r.Version}, nil
}
