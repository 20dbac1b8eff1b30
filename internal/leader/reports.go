package leader

import (
	"cmp"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Report is a partition owner's report to the leader.
type Report struct {
	Owner     roster.Incarnation
	Held      []roster.Holding   // joining replicas that hold their tables (R5)
	Persisted []roster.Persisted // partitions whose tables are on the disks of all durable replicas (D4)
	// Unreached lists all members that have not answered the owner for longer than apartAfter.
	Unreached []roster.Incarnation
}

// unreachedKept is the lifetime for reports of unreached members, which owners repeat each second.
const unreachedKept = 3 * time.Second

// reports records the owners' reports. Owners report members that they do not reach ([Reach]):
// while the leader reaches both, it moves partitions so that no owner waits for a replica that it
// does not reach.
type reports struct {
	held      map[roster.Replica]roster.Version     // joining replicas that hold their tables (R5)
	persisted map[roster.PartitionID]roster.Version // partitions that are on disk (D4)
	unreached map[roster.Incarnation]unreached      // by the reporting owner
	earlier   clustertime.Tick                      // end: the latest grant in an earlier run, 0 for none (S2)
}

// unreached is one owner's report.
type unreached struct {
	members []roster.Incarnation
	at      time.Duration
}

// record records a report, and reports whether a step is due.
func (q *reports) record(v View, in Report) (due bool, err error) {
	due = q.noteUnreached(v, in.Owner, in.Unreached)
	for _, h := range in.Held {
		counts, err := countsAt(v.Roster, in.Owner, h.Partition, h.Version)
		if err != nil {
			return due, err
		}
		if counts {
			q.held[h.Replica] = v.Roster.Version
			due = true
		}
	}
	for _, p := range in.Persisted {
		counts, err := countsAt(v.Roster, in.Owner, p.Partition, p.Version)
		if err != nil {
			return due, err
		}
		if counts {
			q.persisted[p.Partition] = v.Roster.Version
			due = true
		}
	}
	return due, nil
}

// countsAt reports whether a report about a partition is from the partition's owner, at the
// leader's roster version.
func countsAt(r *roster.Roster, owner roster.Incarnation, id roster.PartitionID, version roster.Version) (bool, error) {
	switch {
	case int(id) >= len(r.Partitions):
		return false, failure.Errorf(ErrBadRequest, "grid: partition %d does not exist; the grid has %d", id,
			len(r.Partitions))
	case version > r.Version:
		return false, failure.Errorf(ErrNotLeading,
			"grid: report of version %d: the leader has applied version %d only; try again", version, r.Version)
	}
	return version == r.Version && r.Partitions[id].Owner == owner, nil
}

// heldAt returns, sorted, the replicas that hold their tables at a version, and drops
// earlier reports.
func (q *reports) heldAt(version roster.Version) (out []roster.Holding) {
	for r, at := range q.held {
		if at < version {
			delete(q.held, r)
		} else {
			out = append(out, roster.Holding{Replica: r, Version: at})
		}
	}
	slices.SortFunc(out, func(a, b roster.Holding) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Member, b.Member))
	})
	return out
}

// persistedAt returns, sorted, the partitions that are on disk at a version, and drops the
// reports of earlier versions.
func (q *reports) persistedAt(version roster.Version) (out []roster.Persisted) {
	for id, at := range q.persisted {
		if at < version {
			delete(q.persisted, id)
		} else {
			out = append(out, roster.Persisted{Partition: id, Version: at})
		}
	}
	slices.SortFunc(out, func(a, b roster.Persisted) int { return cmp.Compare(a.Partition, b.Partition) })
	return out
}

// noteUnreached records the members that an owner does not reach, and reports whether they have
// changed.
func (q *reports) noteUnreached(v View, owner roster.Incarnation, members []roster.Incarnation) (changed bool) {
	known := func(i roster.Incarnation) bool { _, member := v.Roster.Member(i); return member }
	if !known(owner) {
		return false
	}
	members = slices.DeleteFunc(slices.Clone(members), func(i roster.Incarnation) bool { return i == owner || !known(i) })
	slices.Sort(members)
	members = slices.Compact(members)
	changed = !slices.Equal(q.unreached[owner].members, members)
	if len(members) == 0 {
		delete(q.unreached, owner)
	} else {
		q.unreached[owner] = unreached{members, v.Mono}
	}
	return changed
}
