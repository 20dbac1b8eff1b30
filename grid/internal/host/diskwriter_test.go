package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
)

// heldDisk is a disk whose transactions take as long as the test wants.
type heldDisk struct {
	begun chan []roster.PartitionID // the partitions of each transaction
	end   chan error
	limit int // of the writes that one transaction takes, 0 for none
}

func newHeldDisk() *heldDisk {
	return &heldDisk{begun: make(chan []roster.PartitionID), end: make(chan error)}
}

// Commit implements committer.
func (h *heldDisk) Commit(_ roster.GridID, writes []definitions.Write) (int, error) {
	if h.limit > 0 {
		writes = writes[:min(h.limit, len(writes))]
	}
	var ids []roster.PartitionID
	for _, w := range writes {
		ids = append(ids, w.Partition)
	}
	h.begun <- ids
	if err := <-h.end; err != nil {
		return 0, err
	}
	return len(writes), nil
}

// writing is a diskWriter on a heldDisk, and what it has acknowledged.
type writing struct {
	*diskWriter
	disk  *heldDisk
	ended chan struct{}

	mu     sync.Mutex
	acked  []roster.PartitionID
	errs   []error
	broken error
}

func newWriting(t *testing.T) *writing {
	w := &writing{disk: newHeldDisk(), ended: make(chan struct{})}
	w.diskWriter = newDiskWriter(w.disk, func() roster.GridID { return roster.GridID{1} }, func() bool { return false },
		func(err error) { w.broken = err })
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(w.ended)
		w.run(ctx)
	}()
	t.Cleanup(func() { stop(); <-w.ended })
	return w
}

// hand hands over a write of a partition.
func (w *writing) hand(id roster.PartitionID) {
	w.add(id, partition.Write{}, func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.acked, w.errs = append(w.acked, id), append(w.errs, err)
	})
}

// acknowledged returns the partitions whose writes were acknowledged.
func (w *writing) acknowledged() []roster.PartitionID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.acked)
}

// TestWritesOfAllPartitionsGoTogether: writes that are handed over while the disk is busy
// are part of the next transaction, and are acknowledged after it, not before (D1).
func TestWritesOfAllPartitionsGoTogether(t *testing.T) {
	w := newWriting(t)
	w.hand(7)
	if ids := <-w.disk.begun; !slices.Equal(ids, []roster.PartitionID{7}) {
		t.Fatalf("the first transaction has partitions %v", ids)
	}
	for _, id := range []roster.PartitionID{5, 3, 9} {
		w.hand(id)
	}
	if acked := w.acknowledged(); len(acked) > 0 {
		t.Errorf("%v acknowledged before the disk was synced", acked)
	}
	w.disk.end <- nil
	if ids := <-w.disk.begun; !slices.Equal(ids, []roster.PartitionID{3, 5, 9}) {
		t.Errorf("the second transaction has partitions %v", ids)
	}
	if acked := w.acknowledged(); !slices.Equal(acked, []roster.PartitionID{7}) {
		t.Errorf("%v acknowledged after one transaction", acked)
	}
	w.disk.limit = 1 // one write at a time from here on
	w.disk.end <- nil
	for _, id := range []roster.PartitionID{1, 2} {
		w.hand(id)
	}
	for seen := 0; seen < 2; {
		seen += len(<-w.disk.begun)
		w.disk.end <- nil
	}
	w.hand(4) // its transaction begins when the last one's acknowledgements are out
	<-w.disk.begun
	if acked := w.acknowledged(); len(acked) != 6 || errors.Join(w.errs...) != nil {
		t.Errorf("%v acknowledged with %v", acked, w.errs)
	}
	w.disk.end <- nil
}

// TestFailedDiskAcknowledgesNothing: after a failed write none is acknowledged and none is
// tried; a change that does not follow is refused without ending the disk.
func TestFailedDiskAcknowledgesNothing(t *testing.T) {
	w := newWriting(t)
	w.hand(1)
	<-w.disk.begun
	w.disk.end <- definitions.ErrGap
	w.hand(2)
	<-w.disk.begun
	if w.mu.Lock(); len(w.errs) != 1 || !errors.Is(w.errs[0], definitions.ErrGap) {
		t.Errorf("a change that does not follow: %v", w.errs)
	}
	w.mu.Unlock()
	w.hand(3)
	w.disk.end <- errors.New("no space left")
	<-w.ended
	if acked := w.acknowledged(); len(acked) != 1 || w.broken == nil {
		t.Errorf("%v acknowledged, told of %v", acked, w.broken)
	}
}

// TestReportsGoTogether: an owner is told of the newest position of each partition, of
// many in one call, and by a bounded number of calls; what could not be told is kept
// unless something newer is there.
func TestReportsGoTogether(t *testing.T) {
	var s storedReports
	at := func(n uint64) backup.Position { return backup.Position{Term: 2, Number: n} }
	begun := 0
	for n := range uint64(10) {
		for id := range roster.PartitionID(3) {
			if s.add(ownerInc, id, at(n)) {
				begun++
			}
		}
	}
	if begun != storedCalls {
		t.Errorf("%d calls were begun, want %d", begun, storedCalls)
	}
	if s.add(backupInc, 1, at(4)) != true {
		t.Error("another owner waits for the first")
	}
	batch, more := s.take(ownerInc)
	want := []member.Stored{{Partition: 0, Position: at(9)}, {Partition: 1, Position: at(9)},
		{Partition: 2, Position: at(9)}}
	if !more || !slices.Equal(batch, want) {
		t.Errorf("it is told %v", batch)
	}
	s.add(ownerInc, 1, at(11))
	s.putBack(ownerInc, batch)
	want[1].Position = at(11)
	if batch, _ = s.take(ownerInc); !slices.Equal(batch, want) {
		t.Errorf("after a call that failed it is told %v", batch)
	}
	for range storedCalls {
		if batch, more := s.take(ownerInc); more {
			t.Errorf("then it is told %v", batch)
		}
	}
	if len(s.owners) != 1 {
		t.Errorf("%d owners are kept", len(s.owners))
	}
	if !s.add(ownerInc, 1, at(12)) {
		t.Error("no call reports a new position")
	}
	s.drop(ownerInc)
	s.take(backupInc)
	s.take(backupInc)
	if len(s.owners) != 0 {
		t.Errorf("%d owners are kept in the end", len(s.owners))
	}
}
