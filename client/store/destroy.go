package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// DestroySequencer ends the name's current life, for all holders. [sequencer.Sequencer.Destroy]
// only ends the life of its handle. Holders detect it by their next renewal, or earlier if the
// store is a [Watcher]. The next destroy or create of the name completes an interrupted destroy.
//
// The name can be created again. Its IDs are above all earlier ones; a create with a definition for which
// they would not be, a later epoch for instance, is refused with sequencer.ErrConflict.
//
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrDamaged if a record is missing (repair it
// first), ErrClosed; and, when ctx ended, an error that matches ctx.Err() and ErrUnavailable.
func (c *Client) DestroySequencer(ctx context.Context, name string) error {
	if _, err := sequencer.Define(name, sequencer.Config{}); err != nil {
		return err
	}
	var d record.Document
	err := c.persist(ctx, name, func() (err error) {
		d, _, err = c.document(ctx, name)
		if errors.Is(err, ErrNoRecord) || err == nil && d.Phase == record.Destroyed {
			return fmt.Errorf("sequencer %q: %w", name, sequencer.ErrNotFound)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.destroy(ctx, d.Ref())
}

// destroy ends one life; that it has ended already is not an error.
func (c *Client) destroy(ctx context.Context, ref attachment.Ref) error {
	name := ref.Definition.Name()
	err := c.persist(ctx, name, func() error { return c.destroyLife(ctx, ref) })
	if err != nil && !errors.Is(err, sequencer.ErrDestroyed) && !errors.Is(err, sequencer.ErrNotFound) {
		return err
	}
	c.endAll(ref)
	return nil
}

// endAll ends this client's handles on a life, and returns their records, so that the next
// life need not count them as used up.
func (c *Client) endAll(ref attachment.Ref) {
	for _, e := range c.handles.All() {
		if e.Control.Ref().Life == ref.Life && e.Control.Handle().Name() == ref.Definition.Name() {
			c.end(e.State)
		}
	}
}

// destroyLife carries out the steps of a destroy (H7). Any client may do so, concurrently and after
// another has begun.
//
// Errors: sequencer.ErrNotFound, ErrDestroyed if the life has ended, ErrDamaged; errAgain and
// ErrChanged if it has to be called again; and the store's errors.
func (c *Client) destroyLife(ctx context.Context, ref attachment.Ref) error {
	name := ref.Definition.Name()
	d, revision, err := c.document(ctx, name)
	switch {
	case errors.Is(err, ErrNoRecord):
		return fmt.Errorf("sequencer %q: %w", name, sequencer.ErrNotFound)
	case err != nil:
		return err
	case d.Life != ref.Life || d.Phase == record.Destroyed:
		return fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	}
	if begun, changed := d.BeginDestroy(newNonce()); changed {
		if revision, err = c.swap(ctx, c.documentEntry(begun, revision)); err != nil {
			return fmt.Errorf("store: sequencer %q: %w", name, err)
		}
		d = begun
	}
	if err := c.initialise(ctx, d, revision); err != nil { // a create that did not come to its end
		return err
	}
	c.returnAll(ctx, ref)
	made, err := c.seal(ctx, d)
	if err != nil {
		return err
	}
	records, err := c.closeAll(ctx, d, made)
	if err != nil {
		return err
	}
	ended, err := d.EndDestroy(records, newNonce())
	if err != nil {
		return err
	}
	if _, err := c.swap(ctx, c.documentEntry(ended, revision)); err != nil {
		return fmt.Errorf("store: sequencer %q: %w", name, err)
	}
	return nil
}

// returnAll ends this client's handles on a life and waits for the return of their
// records, once.
func (c *Client) returnAll(ctx context.Context, ref attachment.Ref) {
	c.endAll(ref)
	var seats []*seat
	for _, s := range c.allSeats() {
		if s.h.ref.Life == ref.Life && s.h.name() == ref.Definition.Name() {
			seats = append(seats, s)
		}
	}
	c.together(len(seats), func(i int) { _ = seats[i].finishOnce(ctx) })
}

// seal writes into the marker that no more records are made for a life (H10), and returns
// how many there are.
func (rs *recordStore) seal(ctx context.Context, d record.Document) (made int, err error) {
	name := d.Definition.Name()
	m, revision, err := rs.marker(ctx, name)
	if err != nil {
		return 0, err
	}
	sealed, changed, err := m.Seal(d.Life, newNonce())
	if err != nil || !changed {
		return m.Made, err
	}
	if _, err := rs.swap(ctx, rs.markerEntry(name, sealed, revision)); err != nil {
		return 0, fmt.Errorf("store: sequencer %q: %w", name, err)
	}
	return m.Made, nil
}

// closeAll closes every record in a life, and returns them.
func (rs *recordStore) closeAll(ctx context.Context, d record.Document, made int) ([]record.Record, error) {
	all, err := rs.all(ctx, d.Definition, made)
	if err != nil {
		return nil, err
	}
	records := make([]record.Record, made)
	return records, rs.each(ctx, made, func(i int) (err error) {
		f := all[i]
		if _, _, err := f.Record.Close(d.Life, newNonce()); f.err != nil || err != nil {
			f = rs.one(ctx, d.Definition.Name(), f.Node) // a listing may be older than the life
		}
		records[i], err = rs.alter(ctx, d, f, record.Record.Close)
		return err
	})
}
