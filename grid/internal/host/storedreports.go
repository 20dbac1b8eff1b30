package host

import (
	"cmp"
	"slices"
	"sync"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire/member"
)

// storedReports batches, by owner, the positions stored on this member's disk, so that one call covers
// many partitions. It keeps only a partition's newest position. The zero value is ready.
type storedReports struct {
	mu     sync.Mutex
	owners map[roster.Incarnation]*reportsTo
}

type reportsTo struct {
	positions map[roster.PartitionID]backup.Position
	calls     int // in progress, or about to begin
}

// storedCalls limits concurrent calls to one owner. With one, each report would wait for the previous
// reply.
const storedCalls = 4

// add queues a position for an owner, and reports whether the caller must start sending.
func (s *storedReports) add(to roster.Incarnation, id roster.PartitionID, p backup.Position) (begin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owners == nil {
		s.owners = map[roster.Incarnation]*reportsTo{}
	}
	r := s.owners[to]
	if r == nil {
		r = &reportsTo{positions: map[roster.PartitionID]backup.Position{}}
		s.owners[to] = r
	}
	if p.Compare(r.positions[id]) > 0 {
		r.positions[id] = p
	}
	begin = r.calls < storedCalls
	if begin {
		r.calls++
	}
	return begin
}

// take returns an owner's queued positions, by partition. It returns false when none are left, and the
// caller stops sending.
func (s *storedReports) take(to roster.Incarnation) ([]member.Stored, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.owners[to]
	var out []member.Stored
	for id, p := range r.positions {
		if len(out) == member.MaxStored {
			break
		}
		out = append(out, member.Stored{Partition: id, Position: p})
		delete(r.positions, id)
	}
	if len(out) == 0 {
		s.end(to, r)
	}
	slices.SortFunc(out, func(a, b member.Stored) int { return cmp.Compare(a.Partition, b.Partition) })
	return out, len(out) > 0
}

// putBack queues unsent positions again, unless newer ones are queued.
func (s *storedReports) putBack(to roster.Incarnation, batch []member.Stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range batch {
		if r := s.owners[to]; b.Position.Compare(r.positions[b.Partition]) > 0 {
			r.positions[b.Partition] = b.Position
		}
	}
}

// drop discards an owner's queued positions; the caller stops sending.
func (s *storedReports) drop(to roster.Incarnation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.owners[to]
	clear(r.positions)
	s.end(to, r)
}

func (s *storedReports) end(to roster.Incarnation, r *reportsTo) {
	if r.calls--; r.calls == 0 && len(r.positions) == 0 {
		delete(s.owners, to)
	}
}
