package grid

import (
	"cmp"
	"slices"
	"sync"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// storedReports collects, owner by owner, which tables are on this member's disk, so
// that one call tells an owner of all its partitions. Of a partition only the newest
// position is kept. Its zero value is ready.
type storedReports struct {
	mu      sync.Mutex
	waiting map[partition.Incarnation]map[partition.ID]backup.Position // an entry: it is being told
}

// add has an owner told of a position, and reports whether the caller has to begin
// telling it.
func (s *storedReports) add(to partition.Incarnation, id partition.ID, p backup.Position) (begin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[partition.Incarnation]map[partition.ID]backup.Position{}
	}
	positions, telling := s.waiting[to]
	if !telling {
		positions = map[partition.ID]backup.Position{}
		s.waiting[to] = positions
	}
	if p.Compare(positions[id]) > 0 {
		positions[id] = p
	}
	return !telling
}

// take returns what an owner is to be told, by partition. With nothing left it returns
// false, and the telling has ended.
func (s *storedReports) take(to partition.Incarnation) ([]wire.Stored, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []wire.Stored
	for id, p := range s.waiting[to] {
		if len(out) == wire.MaxStored {
			break
		}
		out = append(out, wire.Stored{Partition: id, Position: p})
		delete(s.waiting[to], id)
	}
	if len(out) == 0 {
		delete(s.waiting, to)
	}
	slices.SortFunc(out, func(a, b wire.Stored) int { return cmp.Compare(a.Partition, b.Partition) })
	return out, len(out) > 0
}

// putBack adds what could not be told, where nothing newer waits.
func (s *storedReports) putBack(to partition.Incarnation, batch []wire.Stored) {
	for _, p := range batch {
		s.add(to, p.Partition, p.Position)
	}
}

// drop forgets an owner; the telling has ended.
func (s *storedReports) drop(to partition.Incarnation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, to)
}
