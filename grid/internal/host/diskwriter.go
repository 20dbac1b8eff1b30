package host

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/internal/measure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// diskWriter writes the definitions of a member's partitions to its disk. Writes that arrive during
// one transaction share the next one, so one sync covers them all. A partition has at most one write
// in each transaction.
type diskWriter struct {
	store  committer
	grid   func() roster.GridID
	broken func() bool // reports whether the data directory has failed otherwise
	failed func(error) // called with the error that ended the store
	wake   chan struct{}
	writes measure.Histogram // transactions

	mu      sync.Mutex
	waiting map[roster.PartitionID]diskWrite
}

type committer interface {
	Commit(grid roster.GridID, writes []definitions.Write) (done int, err error)
}

// diskWrite is a write, and the function that is called when it is on disk or was refused.
type diskWrite struct {
	definitions.Write
	done func(error)
}

func newDiskWriter(store committer, grid func() roster.GridID, broken func() bool, failed func(error)) *diskWriter {
	return &diskWriter{store: store, grid: grid, broken: broken, failed: failed, wake: make(chan struct{}, 1),
		waiting: map[roster.PartitionID]diskWrite{}}
}

// add hands a write over. done is called once, from another goroutine, unless the
// disk fails or the writer ends first.
func (d *diskWriter) add(id roster.PartitionID, w partition.Write, done func(error)) {
	d.mu.Lock()
	d.waiting[id] = diskWrite{
		definitions.Write{Partition: id, Position: w.Position, DefinitionChange: w.DefinitionChange}, done,
	}
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// take returns the writes that wait, by partition.
func (d *diskWriter) take() []diskWrite {
	d.mu.Lock()
	defer d.mu.Unlock()
	writes := slices.SortedFunc(maps.Values(d.waiting),
		func(a, b diskWrite) int { return cmp.Compare(a.Partition, b.Partition) })
	clear(d.waiting)
	return writes
}

func (d *diskWriter) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		}
		for writes := d.take(); len(writes) > 0; writes = d.take() {
			if ctx.Err() != nil || d.broken() || !d.commit(writes) {
				return
			}
		}
	}
}

func (d *diskWriter) commit(writes []diskWrite) bool {
	for len(writes) > 0 {
		batch := make([]definitions.Write, len(writes))
		for i, w := range writes {
			batch[i] = w.Write
		}
		began := time.Now()
		n, err := d.store.Commit(d.grid(), batch)
		d.writes.Observe(time.Since(began))
		switch {
		case errors.Is(err, definitions.ErrGap):
			n = len(writes) // each machine writes the whole of its table next
		case err != nil:
			d.failed(err)
			return false
		}
		for _, w := range writes[:n] {
			w.done(err)
		}
		writes = writes[n:]
	}
	return true
}
