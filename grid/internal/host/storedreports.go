package host

import (
	"cmp"
	"slices"
	"sync"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// storedReports collects, owner by owner, which tables are on this member's disk, so
// that one call tells an owner of many partitions. Of a partition only the newest
// position is kept. Its zero value is ready.
type storedReports struct {
	mu     sync.Mutex
	owners map[roster.Incarnation]*reportsTo
}

// reportsTo has the pending reports for one owner.
type reportsTo struct {
	positions map[roster.PartitionID]backup.Position
	calls     int // in progress, or about to begin
}

// storedCalls is how many calls tell one owner at the same time. With one, news would
// wait for the answer to the news before it.
const storedCalls = 4

// add has an owner told of a position, and reports whether the caller has to begin
// telling it.
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

// take returns what an owner is to be told, by partition. With nothing left it returns
// false, and the caller stops telling it.
func (s *storedReports) take(to roster.Incarnation) ([]wire.Stored, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.owners[to]
	var out []wire.Stored
	for id, p := range r.positions {
		if len(out) == wire.MaxStored {
			break
		}
		out = append(out, wire.Stored{Partition: id, Position: p})
		delete(r.positions, id)
	}
	if len(out) == 0 {
		s.end(to, r)
	}
	slices.SortFunc(out, func(a, b wire.Stored) int { return cmp.Compare(a.Partition, b.Partition) })
	return out, len(out) > 0
}

// putBack adds what could not be told, where nothing newer waits.
func (s *storedReports) putBack(to roster.Incarnation, batch []wire.Stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range batch {
		if r := s.owners[to]; b.Position.Compare(r.positions[b.Partition]) > 0 {
			r.positions[b.Partition] = b.Position
		}
	}
}

// drop forgets what an owner was to be told, and the caller stops telling it.
func (s *storedReports) drop(to roster.Incarnation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.owners[to]
	clear(r.positions)
	s.end(to, r)
}

// end counts a call as over. The caller holds mu.
func (s *storedReports) end(to roster.Incarnation, r *reportsTo) {
	if r.calls--; r.calls == 0 && len(r.positions) == 0 {
		delete(s.owners, to)
	}
}
