package record

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// checkRepeat returns nil if no ID of the next life, with this definition, equals an ID of this life or the
// lives before. The mark orders ticks, and an ID is a tick relative to its definition's epoch, shifted by
// its layout: with a later epoch, or fewer low bits, later ticks can give equal IDs.
//
// This life's definition is enough: by the same check, its IDs are above all earlier ones.
//
// Errors: sequencer.ErrConflict.
func (d Document) checkRepeat(next sequencer.Definition) error {
	before := d.Definition
	was, will := before.Layout(), next.Layout()
	same := before.Epoch() == next.Epoch() && was.Bits == will.Bits && was.LowBits == will.LowBits
	if same || d.Mark <= clustertime.Tick(before.Epoch().UnixMilli()) { // the same order, or no ID was issued
		return nil
	}
	last, first := before.MaxID((d.Mark - 1).Time()), next.MinID(d.Mark.Time())
	if first > last {
		return nil
	}
	return failure.Errorf(sequencer.ErrConflict,
		"sequencer %q: conflicting definition: the destroyed sequencer had %v and IDs up to %d, requested was %v with IDs from %d, so IDs could repeat; use the earlier definition, or another name",
		next.Name(), before, last, next, first)
}
