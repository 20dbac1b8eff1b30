package record

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Retire takes the record out of use (H6): its holder is removed and can no longer extend it; bound
// and version stay. It returns false if the record is already retired.
//
// Errors: sequencer.ErrDestroyed if the life has ended; ErrDamaged.
func (r Record) Retire(life attachment.Life, nonce string) (Record, bool, error) {
	if r.State == Retired && r.Life == life {
		return r, false, nil
	}
	if err := r.takeable(life); err != nil {
		return Record{}, false, err
	}
	r.Graceful = r.Graceful && r.State != Held
	r = r.unheld(Retired, nonce)
	r.Life = life
	return r, true, nil
}

// Restore returns a retired record to use (H6), with its bound and version. false: it is
// in use already.
//
// Errors: sequencer.ErrDestroyed if the life has ended; ErrDamaged.
func (r Record) Restore(life attachment.Life, nonce string) (Record, bool, error) {
	if r.State != Retired || r.Life != life {
		return r, false, r.takeable(life)
	}
	return r.unheld(Free, nonce), true, nil
}

// Again returns a record that has no holder, in this life, with another nonce. The swap changes nothing but the
// revision, so a late swap of an earlier call is refused. It returns false for other records.
func (r Record) Again(life attachment.Life, nonce string) (Record, bool) {
	if r.Life != life || r.State != Free && r.State != Retired {
		return r, false
	}
	r.Nonce = nonce
	return r, true
}

// Enlist returns a record beyond the sequencer's slots as a retired one in the given life, to be
// restored when the slots have grown (H10). No attachment can have held it.
//
// Errors: sequencer.ErrDestroyed if the life has ended.
func (r Record) Enlist(life attachment.Life, nonce string) (Record, error) {
	if r.EndOf(life) {
		return Record{}, fmt.Errorf("record: %w", sequencer.ErrDestroyed)
	}
	r = r.unheld(Retired, nonce)
	r.Life = life
	return r, nil
}

// Reuse returns the record for a life whose range has other nodes than the life before (H11). It returns
// false if the record is in this life already, or if it is damaged, which a take reports. A record
// that is neither closed nor held was made by an interrupted call, and no life counted it. A closed record is
// written too, so that a late swap of an earlier life's call, which was on the condition of its revision, is
// refused.
//
// Errors: sequencer.ErrDestroyed if a later life has the record.
func (r Record) Reuse(life attachment.Life, nonce string) (Record, bool, error) {
	switch {
	case earlier(life, r.Life):
		return Record{}, false, fmt.Errorf("record: %w", sequencer.ErrDestroyed)
	case r.Life == life || r.empty() || r.State == Held:
		return r, false, nil
	}
	r = r.unheld(Free, nonce)
	r.Life = life
	return r, true, nil
}

// Close closes the record for a life that is being destroyed (H7): the holder is removed, the bound
// stays. It returns false if the record is closed already. A record that an earlier destroy closed
// is closed again, so that no attachment in this life can take it afterwards.
//
// Errors: sequencer.ErrDestroyed if a later life has the record; ErrDamaged if it is in use in an
// earlier one.
func (r Record) Close(life attachment.Life, nonce string) (Record, bool, error) {
	switch {
	case r.State == Closed && r.Life == life:
		return r, false, nil
	case earlier(life, r.Life):
		return Record{}, false, fmt.Errorf("record: %w", sequencer.ErrDestroyed)
	case r.State != Closed && r.Life != life && !r.empty():
		return Record{}, false, r.takeable(life)
	}
	r.Graceful = r.Graceful && r.State != Held
	r = r.unheld(Closed, nonce)
	r.Life = life
	return r, true, nil
}

// Repaired returns a replacement for a record that is missing or unreadable, or has a wrong bound
// (H6): the operator states that nothing was granted at or above floor. version is a version that
// the record has had, or 0 if none can be determined. A version that cannot be followed by another is
// no count of takes, and is not used.
//
// Errors: sequencer.ErrInvalidConfig if floor is outside the sequencer's time range.
func Repaired(life attachment.Life, floor, epoch clustertime.Tick, version uint64, nonce string) (Record, error) {
	if floor < epoch || floor > clustertime.Latest {
		return Record{}, failure.Errorf(sequencer.ErrInvalidConfig,
			"record: repair: floor %s is outside %s to %s; give a time at or above which nothing was granted, such as one "+
				"window after the present",
			text(floor), text(epoch), text(clustertime.Latest))
	}
	if version >= versionMax {
		version = 0
	}
	return Record{State: Free, Version: version, Life: life, Bound: floor, Nonce: nonce}, nil
}
