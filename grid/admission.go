package grid

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// An owner whose joining replica holds the table asks the leader to admit it (R5), and
// one whose durable in-sync replicas all have the table on disk asks it to name their
// disks (D4). Both requests are good for one version of the roster only; at a later one
// the replicas are asked anew.

const (
	// admissionDelay is how long requests are gathered into one call.
	admissionDelay = 5 * time.Millisecond
	admissionRetry = 100 * time.Millisecond
	// admissionAgain is when the leader is told again: it may be another one.
	admissionAgain = time.Second
)

// admissions are the requests that owners make of the leader, each with the version at
// which it is good. Its zero value is ready.
type admissions struct {
	mu        sync.Mutex
	held      map[partition.Replica]partition.Version // own partitions' joining replicas that hold their table
	persisted map[partition.ID]partition.Version      // own partitions that are on disk
	telling   bool                                    // the leader is being told of these

	// At the leader, what owners told.
	joined map[partition.Replica]partition.Version
	onDisk map[partition.ID]partition.Version
}

// add notes requests, and reports whether the caller has to begin telling the leader.
func (a *admissions) add(note func()) (begin bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil {
		a.held, a.persisted = map[partition.Replica]partition.Version{}, map[partition.ID]partition.Version{}
	}
	note()
	begin = !a.telling
	a.telling = true
	return begin
}

// now returns the requests that are worth making at a version, forgets the others, and
// with none left ends the telling.
func (a *admissions) now(version partition.Version) (held []partition.Holding, persisted []partition.Persisted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	held, persisted = current(a.held, version), currentDisks(a.persisted, version)
	a.telling = len(held)+len(persisted) > 0
	return held, persisted
}

// take notes, at the leader, the requests of an owner by the roster that it knows. What
// is not by the owner, or of another version than the roster's, is no use.
func (a *admissions) take(r *partition.Roster, in wire.HeldRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.joined == nil {
		a.joined, a.onDisk = map[partition.Replica]partition.Version{}, map[partition.ID]partition.Version{}
	}
	for _, h := range in.Held {
		if h.Version == r.Version && r.Partitions[h.Partition].Owner == in.Owner {
			a.joined[h.Replica] = h.Version
		}
	}
	for _, p := range in.Persisted {
		if p.Version == r.Version && r.Partitions[p.Partition].Owner == in.Owner {
			a.onDisk[p.Partition] = p.Version
		}
	}
}

// ready returns, at the leader, what may be granted at a version, and forgets what no
// longer may.
func (a *admissions) ready(version partition.Version) ([]partition.Holding, []partition.Persisted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return current(a.joined, version), currentDisks(a.onDisk, version)
}

// current returns the requests of a version or later and deletes the others.
func current(requests map[partition.Replica]partition.Version, version partition.Version) (out []partition.Holding) {
	maps.DeleteFunc(requests, func(_ partition.Replica, v partition.Version) bool { return v < version })
	for r, v := range requests {
		out = append(out, partition.Holding{Replica: r, Version: v})
	}
	return out
}

// currentDisks is current for disks, by partition.
func currentDisks(requests map[partition.ID]partition.Version, version partition.Version) (out []partition.Persisted) {
	maps.DeleteFunc(requests, func(_ partition.ID, v partition.Version) bool { return v < version })
	for id, v := range requests {
		out = append(out, partition.Persisted{Partition: id, Version: v})
	}
	slices.SortFunc(out, func(a, b partition.Persisted) int { return cmp.Compare(a.Partition, b.Partition) })
	return out
}

// ReportHeld implements owner.Member.
func (o *actor) ReportHeld(h partition.Holding) {
	a := o.m.admissions.Load()
	if a.add(func() { a.held[h.Replica] = h.Version }) {
		o.m.background(func(ctx context.Context) { o.m.tellAdmissions(ctx, a) })
	}
}

// ReportPersisted implements owner.Member.
func (o *actor) ReportPersisted(p partition.Persisted) {
	a := o.m.admissions.Load()
	if a.add(func() { a.persisted[p.Partition] = p.Version }) {
		o.m.background(func(ctx context.Context) { o.m.tellAdmissions(ctx, a) })
	}
}

// tellAdmissions tells the leader, whoever it is, as long as the roster's version
// makes it worth telling.
func (m *Member) tellAdmissions(ctx context.Context, a *admissions) {
	for pause := admissionDelay; ; {
		sleep(ctx, pause)
		req := wire.HeldRequest{Owner: m.self}
		req.Held, req.Persisted = a.now(m.roster.Load().Version)
		if len(req.Held)+len(req.Persisted) == 0 || ctx.Err() != nil {
			return
		}
		pause = admissionAgain
		if err := m.reportTo(ctx, req); err != nil {
			m.log.Debug("leader not told what is ready; retrying", "error", err)
			pause = admissionRetry
		}
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

// serveHeld notes, at the leader, what owners ask for.
func (m *Member) serveHeld(_ context.Context, in wire.HeldRequest) (wire.MemberResponse, error) {
	if !m.node().leads() {
		return wire.MemberResponse{}, errNotLeader
	}
	r := m.roster.Load()
	var last partition.ID
	var version partition.Version
	for _, h := range in.Held {
		last, version = max(last, h.Partition), max(version, h.Version)
	}
	for _, p := range in.Persisted {
		last, version = max(last, p.Partition), max(version, p.Version)
	}
	switch {
	case int(last) >= len(r.Partitions):
		return wire.MemberResponse{}, invalid("there is no partition %d, only %d of them", last, len(r.Partitions))
	case version > r.Version:
		return wire.MemberResponse{}, fmt.Errorf("%w: the leader has applied version %d only", errNotLeader, r.Version)
	}
	m.admissions.Load().take(r, in)
	return wire.MemberResponse{Version: r.Version}, nil
}
