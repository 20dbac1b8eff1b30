package attachment

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// CheckRepeat returns nil if no ID of a name's next life, with definition next, equals an ID of its earlier
// lives. The last one had definition before and was granted no tick from mark on. The mark orders ticks, and
// an ID is a tick relative to its definition's epoch, shifted by its layout: with a later epoch, or fewer low
// bits, later ticks can give equal IDs.
//
// The definition of the last life is enough: by the same check, its IDs are above all earlier ones.
//
// Errors: sequencer.ErrConflict.
func CheckRepeat(before sequencer.Definition, mark clustertime.Tick, next sequencer.Definition) error {
	was, will := before.Config(), next.Config()
	same := was.Epoch == will.Epoch && was.Layout.Bits == will.Layout.Bits && was.Layout.LowBits == will.Layout.LowBits
	if same || !HadIDs(before, mark) { // the same order, or no ID was issued
		return nil
	}
	last, first := before.MaxID((mark - 1).Time()), next.MinID(mark.Time())
	if first > last {
		return nil
	}
	return failure.Errorf(sequencer.ErrConflict,
		"sequencer %q: conflicting definition: the destroyed sequencer had %v and IDs up to %d, requested was %v with IDs "+
			"from %d, so IDs could repeat; use the earlier definition, or another name",
		next.Name(), before, last, next, first)
}

// HadIDs reports whether a life that was granted no tick from mark on can have issued IDs.
func HadIDs(d sequencer.Definition, mark clustertime.Tick) bool {
	return mark > clustertime.Tick(d.Config().Epoch.UnixMilli())
}
