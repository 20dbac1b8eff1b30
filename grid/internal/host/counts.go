package host

import (
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/measure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Counts are the measurements of a host since it was made.
type Counts struct {
	Attaches     *measure.Histogram // attaches that this member answered as an owner, without errors
	Replications *measure.Histogram // calls that a replica acknowledged
	// ReplicationLag is for how long the slowest in-sync replica of the partitions that
	// this member owns, or voter that keeps their definitions in memory, has not acknowledged
	// an update; 0 if all have acknowledged all.
	ReplicationLag   time.Duration
	DefinitionWrites *measure.Histogram // to the disk, with its sync; nil without one
	Refused          map[Refusal]uint64 // by quotas
}

// awaits returns a function that reports whether replies by this member's partition depend on an
// update: one to an in-sync or joining replica, or to a voter that keeps the definitions in memory.
func (d *deps) awaits() func(update) bool {
	r := d.state.Roster()
	return func(u update) bool {
		if int(u.partition) >= len(r.Partitions) {
			return false
		}
		p := r.Partitions[u.partition]
		return p.Owner == d.self && (slices.Contains(p.InSync, u.to) || p.Joining == u.to ||
			slices.Contains(r.Storage(u.partition).Needed, u.to))
	}
}

type counts struct {
	attaches, replications measure.Histogram
	unacknowledged         unacknowledged
	refused                refusals
}

// Counts returns the measurements so far.
func (h *Host) Counts() Counts {
	out := Counts{
		Refused: h.counts.refused.read(), Attaches: &h.counts.attaches, Replications: &h.counts.replications,
	}
	for _, age := range h.counts.unacknowledged.ages(h.clock.Mono(), h.awaits()) {
		out.ReplicationLag = max(out.ReplicationLag, age)
	}
	if h.disk != nil {
		out.DefinitionWrites = &h.disk.writes
	}
	return out
}

// unacknowledged has the updates on their way, and since when each replica has
// acknowledged none. There is at most one update of a partition to a replica at a time.
type unacknowledged struct {
	mu    sync.Mutex // never held while waiting
	since map[update]time.Duration
}

type update struct {
	partition roster.PartitionID
	to        roster.Incarnation
}

func (s *unacknowledged) sent(u update, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[update]time.Duration{}
	}
	if _, waits := s.since[u]; !waits {
		s.since[u] = now
	}
}

func (s *unacknowledged) acknowledged(u update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, u)
}

// ages returns for how long each replica has not acknowledged its oldest update. It drops updates that are no longer
// awaited.
func (s *unacknowledged) ages(now time.Duration, awaited func(update) bool) map[roster.Incarnation]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	ages := map[roster.Incarnation]time.Duration{}
	for u, since := range s.since {
		if !awaited(u) {
			delete(s.since, u)
			continue
		}
		ages[u.to] = max(ages[u.to], now-since)
	}
	return ages
}
