package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// initialise makes the records of a new sequencer, then the marker, and then records in the
// document that both were made (H11). Any client completes another's interrupted initialisation.
// With that record there is nothing to do, whatever Config.Pool is (Z2): a missing key is damage,
// and never made again.
//
// Errors: ErrDamaged, errAgain if the document has to be read again, and the store's errors.
func (rs *recordStore) initialise(ctx context.Context, d record.Document, revision Revision) error {
	next, lacking := d.Initialize(newNonce())
	if !lacking {
		return nil
	}
	if err := rs.makeRecords(ctx, d); err != nil {
		return err
	}
	_, err := rs.swap(ctx, rs.documentEntry(next, revision))
	return orAgain(err)
}

// makeRecords makes the missing records, and the marker last. With a marker there is nothing to do.
//
// Errors: ErrDamaged, errAgain if it has to be called again, and the store's errors.
func (rs *recordStore) makeRecords(ctx context.Context, d record.Document) error {
	name := d.Definition.Name()
	key := record.KeysOf(rs.cfg.Prefix, name).Marker()
	e, err := rs.load(ctx, key)
	switch {
	case err == nil && len(e.Body) > 0:
		m, err := record.DecodeMarker(e.Body)
		if err != nil {
			return failure.Errorf(ErrDamaged, "store: %q: %w; restore the key from a backup", key, err)
		}
		return rs.move(ctx, d, m, e.Revision)
	case err == nil:
		return rs.adopt(ctx, d.Definition, e.Revision)
	case !errors.Is(err, ErrNoRecord):
		return fmt.Errorf("store: sequencer %q: %w", name, err)
	}
	slots, first := rs.slots(d), d.Definition.Config().NodeRange.Lo
	if err := rs.each(ctx, slots, func(i int) error {
		born := record.Born(d.Life, newNonce())
		_, err := rs.swap(ctx, rs.recordEntry(name, first+sequencer.NodeID(i), born, ""))
		if errors.Is(err, ErrChanged) {
			return nil // it has been made
		}
		return err
	}); err != nil {
		return fmt.Errorf("store: sequencer %q: %w", name, err)
	}
	m := record.Marker{Slots: slots, Made: slots, Nonce: newNonce()}
	_, err = rs.swap(ctx, rs.markerEntry(name, m, ""))
	return orAgain(err)
}

// slots returns the number of records that are made for a life.
func (rs *recordStore) slots(d record.Document) int { return min(rs.cfg.Pool, d.Ref().Nodes()) }

// move makes the records of a life that has other nodes than the life before, and then writes the marker
// for them. The life before is sealed, and its mark is in the document, so a record that is made again grants
// nothing that was granted before.
//
// Errors: as of makeRecords; ErrChanged if the life has ended.
func (rs *recordStore) move(ctx context.Context, d record.Document, m record.Marker, revision Revision) error {
	name, first, slots := d.Definition.Name(), d.Definition.Config().NodeRange.Lo, rs.slots(d)
	if m.Life == d.Counted {
		return nil
	}
	next, err := m.Move(d.Life, slots, newNonce())
	if err != nil {
		return ErrChanged
	}
	if err := rs.each(ctx, slots, func(i int) error { return rs.reuse(ctx, d, first+sequencer.NodeID(i)) }); err != nil {
		return fmt.Errorf("store: sequencer %q: %w", name, err)
	}
	_, err = rs.swap(ctx, rs.markerEntry(name, next, revision))
	return orAgain(err)
}

// reuse makes the record of a node, or one from an earlier life ready for this one.
func (rs *recordStore) reuse(ctx context.Context, d record.Document, node sequencer.NodeID) error {
	name := d.Definition.Name()
	f := rs.one(ctx, name, node)
	next, changed := record.Born(d.Life, newNonce()), true
	var err error
	switch {
	case f.err == nil:
		if next, changed, err = f.Record.Reuse(d.Life, newNonce()); err != nil {
			return ErrChanged
		}
	case f.revision != "":
		return nil // unreadable: a take skips it, and Repair makes it again
	case !errors.Is(f.err, ErrDamaged):
		return f.err
	}
	if changed {
		_, err = rs.swap(ctx, rs.recordEntry(name, node, next, f.revision))
	}
	return err
}

// adopt replaces the empty marker of another program, which initialised the records, by
// one with their number.
func (rs *recordStore) adopt(ctx context.Context, d sequencer.Definition, revision Revision) error {
	name, first := d.Name(), d.Config().NodeRange.Lo
	keys := record.KeysOf(rs.cfg.Prefix, name)
	listed, err := rs.list(ctx, keys.Folder())
	if err != nil {
		return fmt.Errorf("store: sequencer %q: %w", name, err)
	}
	there := map[string]bool{}
	for _, e := range listed {
		there[e.Key] = true
	}
	slots, most := 0, (attachment.Ref{Definition: d}).Nodes()
	for slots < most && there[keys.Record(first+sequencer.NodeID(slots))] {
		slots++
	}
	if slots == 0 {
		return failure.Errorf(ErrDamaged, "store: %q is empty, and the store has no record of the sequencer; delete it",
			keys.Marker())
	}
	m := record.Marker{Slots: slots, Made: slots, Nonce: newNonce()}
	_, err = rs.swap(ctx, rs.markerEntry(name, m, revision))
	return orAgain(err)
}
