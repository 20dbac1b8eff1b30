package leader

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// joinKept is how long a request to join is kept without being repeated.
	joinKept = 3 * time.Second
	// joinsMax bounds the members that join at the same time.
	joinsMax = 256
)

// requests are the members' requests that this leader has confirmed.
type requests struct {
	joins  map[roster.Incarnation]join
	leaves map[roster.Incarnation]bool // members that leave, but for this one
	failed map[roster.Incarnation]bool // of leaves, those whose disk has failed

	held      map[roster.Replica]roster.Version     // joining replicas that hold their tables (R5)
	persisted map[roster.PartitionID]roster.Version // partitions that are on disk (D4)
	unreached map[roster.Incarnation]unreached      // by the owner that reports it
	earlier   clustertime.Tick                      // end of the latest grant of an earlier life, 0 for none (S2)
}

// join is a member that asks to be part of the grid.
type join struct {
	member roster.Member
	at     time.Duration
	// instead is the registered incarnation of the same member that did not answer.
	instead roster.Incarnation
	release roster.Release
	learns  bool // it needs no server
}

func (j join) server() ServerID { return ServerOf(j.member.Incarnation, j.member.Durable) }

func newRequests() requests {
	return requests{
		joins: map[roster.Incarnation]join{}, leaves: map[roster.Incarnation]bool{}, failed: map[roster.Incarnation]bool{},
		held: map[roster.Replica]roster.Version{}, persisted: map[roster.PartitionID]roster.Version{}, unreached: map[roster.Incarnation]unreached{},
	}
}

// joining returns, sorted, the members that ask to join. It forgets requests that are
// too old, those of members, those of processes that no longer read the roster, and those that would replace another incarnation than the
// one that did not answer.
func (l *Leader) joining(v View) []join {
	var out []join
	for inc, j := range l.requests.joins {
		_, in := v.Roster.Member(inc)
		if v.Mono-j.at > joinKept || l.leaves(v, inc) || in && (j.learns || v.serves(j.server())) || j.replaces(v.Roster) || !j.release.Reads(v.Roster.InUse()) {
			delete(l.requests.joins, inc)
		} else {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b join) int { return cmp.Compare(a.member.Incarnation, b.member.Incarnation) })
	return out
}

// joinSelf asks for this member to be in the roster. It leads, so it takes the place of
// an earlier start of itself without asking that one.
func (l *Leader) joinSelf(v View) {
	if _, in := v.Roster.Member(l.self); !in {
		before, _ := registered(v.Roster, l.self.Member())
		l.requests.joins[l.self] = join{member: l.cfg.Self, at: v.Mono, instead: before.Incarnation, release: l.cfg.Release}
	}
}

// registered returns the roster's record of a member ID, of whichever incarnation.
func registered(r *roster.Roster, id roster.MemberID) (roster.Member, bool) {
	for _, m := range r.Members {
		if m.Incarnation.Member() == id {
			return m, true
		}
	}
	return roster.Member{}, false
}

// replaces reports whether a request to join would replace another incarnation than the
// one that did not answer when the request was made. Its member asks again.
func (j join) replaces(r *roster.Roster) bool {
	other, found := registered(r, j.member.Incarnation.Member())
	return found && other.Incarnation != j.member.Incarnation && other.Incarnation != j.instead
}

// leavers returns, sorted, the members that have said that they leave.
func (l *Leader) leavers(v View) []roster.Incarnation {
	out := slices.Collect(maps.Keys(l.requests.leaves))
	if v.Leaving && !l.requests.leaves[l.self] {
		out = append(out, l.self)
	}
	slices.Sort(out)
	return out
}

// Leavers returns, sorted, the other members that have told this leader that they leave
// and that it still takes for members.
func (l *Leader) Leavers() []roster.Incarnation {
	return slices.Sorted(maps.Keys(l.requests.leaves))
}

// failedMembers returns, sorted, the members that have said that their disk has failed.
func (q *requests) failedMembers() []roster.Incarnation {
	return slices.Sorted(maps.Keys(q.failed))
}

// forgetLeft forgets the members that have left: neither the roster nor Raft has them
// any longer, and a later start of one joins like any other.
func (q *requests) forgetLeft(has func(roster.Incarnation) bool) {
	for inc := range q.leaves {
		if !has(inc) {
			delete(q.leaves, inc)
			delete(q.failed, inc)
		}
	}
}

// forgetStarts forgets that other starts of a member left, now that this one joins.
func (q *requests) forgetStarts(joins roster.Incarnation) {
	for inc := range q.leaves {
		if inc != joins && inc.Member() == joins.Member() {
			delete(q.leaves, inc)
			delete(q.failed, inc)
		}
	}
}

// Report is a report of a partition's owner to the leader.
type Report struct {
	Owner     roster.Incarnation
	Held      []roster.Holding   // joining replicas that hold their tables (R5)
	Persisted []roster.Persisted // partitions whose tables are on the disks of all durable replicas (D4)
	// Unreached are all members that do not answer the owner, for longer than apartAfter.
	Unreached []roster.Incarnation
}

// Reported records what an owner reports, and reports whether a step is due. A report
// that is not by the owner, or of another version than the roster's, has no effect.
func (l *Leader) Reported(v View, in Report) (due bool, err error) {
	due = l.requests.noteUnreached(v, in.Owner, in.Unreached)
	for _, h := range in.Held {
		counts, err := countsAt(v.Roster, in.Owner, h.Partition, h.Version)
		if err != nil {
			return due, err
		}
		if counts {
			l.requests.held[h.Replica] = v.Roster.Version
			due = true
		}
	}
	for _, p := range in.Persisted {
		counts, err := countsAt(v.Roster, in.Owner, p.Partition, p.Version)
		if err != nil {
			return due, err
		}
		if counts {
			l.requests.persisted[p.Partition] = v.Roster.Version
			due = true
		}
	}
	return due, nil
}

// countsAt reports whether a report about a partition counts by the roster that the
// leader has applied: it is the owner's, and the version is the roster's.
func countsAt(r *roster.Roster, owner roster.Incarnation, id roster.PartitionID, version roster.Version) (bool, error) {
	switch {
	case int(id) >= len(r.Partitions):
		return false, failure.Errorf(ErrBadRequest, "grid: partition %d does not exist; the grid has %d", id, len(r.Partitions))
	case version > r.Version:
		return false, failure.Errorf(ErrNotLeading, "grid: the leader has applied version %d only", r.Version)
	}
	return version == r.Version && r.Partitions[id].Owner == owner, nil
}

// heldAt returns, sorted, the replicas that hold their tables at a version, and forgets
// those of earlier versions.
func (q *requests) heldAt(version roster.Version) (out []roster.Holding) {
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

// persistedAt returns, sorted, the partitions that are on disk at a version, and forgets
// those of earlier versions.
func (q *requests) persistedAt(version roster.Version) (out []roster.Persisted) {
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

// ShowEarlier records the end of a grant of an earlier life of the grid that a holder
// has shown, so that the next plan raises all floors above it (S2). It reports whether
// that is later than any before.
func (l *Leader) ShowEarlier(until clustertime.Tick) (later bool) {
	later = until > l.requests.earlier
	l.requests.earlier = max(l.requests.earlier, until)
	return later
}
