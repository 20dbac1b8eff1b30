package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Scale sets the number of a sequencer's logical nodes in use, 1 to its node count. Scaling down
// retires the records of the highest nodes: their holders lose them by their next renewal, and take
// others. Scaling up makes records, and restores retired ones with their versions and bounds.
// Another call completes an interrupted one.
//
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrDestroyed; ErrConflict if another Scale was
// later; ErrDamaged if a record is missing; ErrClosed; and, when ctx ended, an error that matches
// ctx.Err() and ErrUnavailable.
func (c *Client) Scale(ctx context.Context, name string, slots int) error {
	d, err := c.existing(ctx, name)
	if err != nil {
		return err
	}
	if most := d.Ref().Nodes(); slots < 1 || slots > most {
		return failure.Errorf(sequencer.ErrInvalidConfig, "sequencer %q: %d slots are outside 1 to %d, its node count; "+
			"give a number inside, or use several sequencers", name, slots, most)
	}
	before := slots
	err = c.persist(ctx, name, func() error {
		found, err := c.resize(ctx, d, slots)
		if found > 0 {
			before = min(before, found)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.persist(ctx, name, func() error { return c.conform(ctx, d, before, slots) })
}

// resize makes the records that are lacking, retired, and then writes the number of slots. It returns the
// number that it has found, 0 if it has read none.
func (rs *recordStore) resize(ctx context.Context, d record.Document, slots int) (found int, err error) {
	name := d.Definition.Name()
	m, revision, err := rs.markerFor(ctx, d.Ref(), d.Counted)
	if err != nil {
		return 0, err
	}
	if m.Slots == slots {
		return m.Slots, nil
	}
	next, err := m.Resize(d.Life, slots, newNonce())
	if err != nil {
		return m.Slots, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	}
	lacking, first := max(slots-m.Made, 0), int(d.Definition.Config().NodeRange.Lo)+m.Made
	if err := rs.each(ctx, lacking, func(i int) error {
		return rs.enlist(ctx, d, sequencer.NodeID(first+i))
	}); err != nil {
		return m.Slots, err
	}
	if _, err := rs.swap(ctx, rs.markerEntry(name, next, revision)); err != nil {
		return m.Slots, fmt.Errorf("store: sequencer %q: %w", name, err)
	}
	return m.Slots, nil
}

// enlist makes the record of a node above the marker's nodes, retired (H10). An existing record
// comes from an interrupted call, or is in use: another scale has made it since the marker was read.
//
// Errors: also ErrChanged if the record has a holder.
func (rs *recordStore) enlist(ctx context.Context, d record.Document, node sequencer.NodeID) error {
	name := d.Definition.Name()
	before := record.Born(d.Life, newNonce())
	f := rs.one(ctx, name, node)
	revision := f.revision
	switch {
	case f.err == nil && f.Record.Life == d.Life && f.Record.State == record.Held:
		return ErrChanged
	case f.err == nil && f.Record.Life == d.Life && f.Record.State == record.Free:
		return nil // no other life counts it before the marker does
	case f.err == nil:
		before = f.Record
	case revision != "" || !errors.Is(f.err, ErrDamaged):
		return f.err
	}
	enlisted, err := before.Enlist(d.Life, newNonce())
	if err != nil {
		return fmt.Errorf("sequencer %q: %w", name, err)
	}
	_, err = rs.swap(ctx, rs.recordEntry(name, node, enlisted, revision))
	return err
}

// conform brings every record to the state that the number of slots requires. From the number before on, free
// records are written again: an earlier scale to fewer slots may have left a swap that is late.
func (rs *recordStore) conform(ctx context.Context, d record.Document, before, slots int) error {
	name := d.Definition.Name()
	m, _, err := rs.markerFor(ctx, d.Ref(), d.Counted)
	if err != nil {
		return err
	}
	all, err := rs.all(ctx, d.Definition, m.Made)
	if err != nil {
		return err
	}
	if err := rs.each(ctx, len(all), func(i int) error {
		rule := record.Record.Restore
		switch {
		case i >= m.Slots:
			rule = record.Record.Retire
		case i >= before:
			rule = written(rule)
		}
		f := all[i]
		if _, changed, err := rule(f.Record, d.Life, newNonce()); f.err != nil || err != nil || !changed {
			f = rs.one(ctx, name, f.Node) // a listing may be older, and show a state that was changed since
		}
		_, err := rs.alter(ctx, d, f, rule)
		return err
	}); err != nil {
		return err
	}
	now, _, err := rs.markerFor(ctx, d.Ref(), d.Counted)
	switch {
	case err != nil:
		return err
	case now.Nonce != m.Nonce:
		return errAgain // another scale; bring the records to its state
	case now.Slots != slots:
		return failure.Errorf(sequencer.ErrConflict, "sequencer %q: scaled to %d slots meanwhile, not %d; scale again", name,
			now.Slots, slots)
	}
	return nil
}

// alter changes a record by a rule, computed again if another holder was faster. It returns the record after that.
func (rs *recordStore) alter(ctx context.Context, d record.Document, f found, rule nodeRule) (record.Record, error) {
	for name := d.Definition.Name(); ; {
		if f.err != nil {
			return record.Record{}, failure.Errorf(f.err, "sequencer %q: %w", name, f.err)
		}
		next, changed, err := rule(f.Record, d.Life, newNonce())
		if err != nil {
			return next, failure.Errorf(err, "sequencer %q: node %d: %w", name, f.Node, err)
		}
		if !changed {
			return next, nil
		}
		_, err = rs.swap(ctx, rs.recordEntry(name, f.Node, next, f.revision))
		if !errors.Is(err, ErrChanged) {
			return next, err
		}
		f = rs.one(ctx, name, f.Node)
	}
}

// Retire takes one logical node out of use: its holder loses it by its next renewal, and takes
// another. Scale restores it, as does Restore.
//
// Errors: as for Scale, except ErrConflict.
func (c *Client) Retire(ctx context.Context, name string, node sequencer.NodeID) error {
	return c.alterNode(ctx, name, node, record.Record.Retire)
}

// Restore returns a retired logical node to use, with its version and bound.
//
// Errors: as for Scale, except ErrConflict.
func (c *Client) Restore(ctx context.Context, name string, node sequencer.NodeID) error {
	return c.alterNode(ctx, name, node, record.Record.Restore)
}

// nodeRule computes a record's next body.
type nodeRule func(r record.Record, life attachment.Life, nonce string) (record.Record, bool, error)

// written returns a rule that also writes a record without a holder that needs no change, so that a late swap of
// an earlier call is refused (H10).
func written(rule nodeRule) nodeRule {
	return func(r record.Record, life attachment.Life, nonce string) (record.Record, bool, error) {
		next, changed, err := rule(r, life, nonce)
		if err == nil && !changed {
			next, changed = r.Again(life, nonce)
		}
		return next, changed, err
	}
}

func (c *Client) alterNode(ctx context.Context, name string, node sequencer.NodeID, rule nodeRule) error {
	d, err := c.existing(ctx, name)
	if err != nil {
		return err
	}
	return c.persist(ctx, name, func() error {
		if err := c.checkNode(ctx, d, node); err != nil {
			return err
		}
		_, err := c.alter(ctx, d, c.one(ctx, name, node), written(rule))
		return err
	})
}

func (rs *recordStore) checkNode(ctx context.Context, d record.Document, node sequencer.NodeID) error {
	m, _, err := rs.markerFor(ctx, d.Ref(), d.Counted)
	if err != nil {
		return err
	}
	if first := int(d.Definition.Config().NodeRange.Lo); int(node) < first || int(node) >= first+m.Slots {
		return failure.Errorf(sequencer.ErrInvalidConfig,
			"sequencer %q: node %d is outside %d to %d; give one inside, or scale the sequencer up",
			d.Definition.Name(), node, first, first+m.Slots-1)
	}
	return nil
}

// Repair makes a logical node's record again that is missing or unreadable, or that was
// granted to a time far ahead. The caller states that nothing was issued at or above
// floor, and that no process uses the node: nothing before floor is issued for it from then on. A floor
// of one window after the present is safe if the clocks of all holders were right. A record that has a
// holder is repaired only if it was granted far ahead, and if the holder does not renew it for a window,
// for which Repair waits.
//
// Errors: sequencer.ErrInvalidConfig for a floor or node out of range, and for a floor up to which the
// record shows that IDs were issued; ErrNotFound; ErrDestroyed if the record shows that the life has ended;
// ErrConflict if the node has a holder, or its record needs no repair; ErrClosed;
// and, when ctx ended, an error that matches ctx.Err() and ErrUnavailable.
func (c *Client) Repair(ctx context.Context, name string, node sequencer.NodeID, floor time.Time) error {
	var d record.Document
	return c.persist(ctx, name, func() (err error) {
		if d, _, err = c.document(ctx, name); errors.Is(err, ErrNoRecord) || err == nil && d.Phase == record.Destroyed {
			return fmt.Errorf("sequencer %q: %w", name, sequencer.ErrNotFound)
		}
		if err != nil {
			return err
		}
		m, _, err := c.marker(ctx, name)
		first := int(d.Definition.Config().NodeRange.Lo)
		switch {
		case err != nil:
			return err
		case int(node) < first || int(node) >= first+m.Made:
			return failure.Errorf(sequencer.ErrInvalidConfig, "sequencer %q: node %d is outside %d to %d", name, node, first,
				first+m.Made-1)
		}
		return c.repair(ctx, d, c.one(ctx, name, node), clustertime.TickOf(floor))
	})
}

func (c *Client) repair(ctx context.Context, d record.Document, f found, floor clustertime.Tick) error {
	name := d.Definition.Name()
	if err := c.repairable(ctx, d, f); err != nil {
		return err
	}
	if used := f.Record.LastUsed; f.err == nil && floor <= used {
		return failure.Errorf(sequencer.ErrInvalidConfig,
			"sequencer %q: node %d is not repaired: its holder reported IDs up to %s, and the floor is %s; give a later "+
				"floor, above all its IDs", name, f.Node, used.Time().Format(time.RFC3339Nano),
			floor.Time().Format(time.RFC3339Nano))
	}
	repaired, err := record.Repaired(d.Life, floor, clustertime.Tick(d.Definition.Config().Epoch.UnixMilli()),
		max(f.Record.Version, c.versionKnown(ctx, d.Definition, f.Node)), newNonce())
	if err != nil {
		return failure.Errorf(err, "sequencer %q: %w", name, err)
	}
	if f.Record.State == record.Retired && f.err == nil {
		if repaired, _, err = repaired.Retire(d.Life, newNonce()); err != nil {
			return err
		}
	}
	if _, err = c.swap(ctx, c.recordEntry(name, f.Node, repaired, f.revision)); err == nil {
		c.log.Warn("record repaired", "sequencer", name, "node", f.Node, "floor", floor.Time())
		c.notify(name)
	}
	return err
}

// repairable returns an error if a record may not be replaced. It waits for a window if the record has a
// holder, which shows by a renewal that it runs.
//
// Errors: sequencer.ErrConflict; ErrDestroyed if the record shows that the document's life has ended;
// ErrChanged if the record was changed meanwhile; the store's and ctx's errors.
func (c *Client) repairable(ctx context.Context, d record.Document, f found) error {
	r := f.Record
	held := r.State == record.Held
	lead := max(r.Bound, r.Timestamp).Sub(c.clock.Now()).Duration()
	until := max(r.Bound, r.Timestamp).Time().Format(time.RFC3339)
	refused := func(format string, args ...any) error {
		return failure.Errorf(sequencer.ErrConflict, "sequencer %q: node %d is not repaired: %w", d.Definition.Name(), f.Node,
			fmt.Errorf(format, args...))
	}
	switch {
	case f.err != nil && !errors.Is(f.err, ErrDamaged):
		return f.err
	case f.err == nil && r.EndOf(d.Life): // the document was older: an earlier life's floor and holders
		return failure.Errorf(sequencer.ErrDestroyed,
			"sequencer %q: node %d is not repaired: its record is %v in life %v, and the repair is of life %v; repair it "+
				"again if the name has been created again",
			d.Definition.Name(), f.Node, r.State, r.Life, d.Life)
	case f.err != nil || r.Life != d.Life && r.State != record.Closed:
		return nil
	case held && lead <= c.ahead():
		return refused("it is held by %q until %s; retire it, or wait", r.Task, until)
	case lead <= c.ahead():
		return refused("it is %v and granted up to %s only; it needs no repair", r.State, until)
	case d.Mark.Sub(c.clock.Now()).Duration() > c.ahead():
		return refused("an earlier life was granted up to %s, and IDs begin there; check the clocks, or use another name",
			d.Mark.Time().Format(time.RFC3339))
	case !held:
		return nil
	}
	c.log.Info("waiting for a window, in which a holder that runs renews its record", "sequencer", d.Definition.Name(),
		"node", f.Node, "task", r.Task, "window", c.cfg.Window)
	if !c.pause(ctx, c.cfg.Window) {
		return fmt.Errorf("node %d: waiting for a window, in which a holder that runs renews its record: %w", f.Node,
			cmp.Or(ctx.Err(), c.tasks.Err()))
	}
	switch now := c.one(ctx, d.Definition.Name(), f.Node); {
	case now.err != nil:
		return now.err
	case now.Record.Nonce == r.Nonce:
		return nil // the swap is on the condition of its revision
	case now.Record.HeldBy(r.Attachment):
		return refused("its holder %q has renewed it now, up to %s; end that process, or set its clock and retire the node",
			r.Task, until)
	}
	return ErrChanged
}

// versionKnown returns a node's largest version in the other records.
func (rs *recordStore) versionKnown(ctx context.Context, d sequencer.Definition,
	node sequencer.NodeID) (version uint64) {
	m, _, err := rs.marker(ctx, d.Name())
	if err != nil {
		return 0
	}
	all, err := rs.all(ctx, d, m.Made)
	if err != nil {
		return 0
	}
	for _, f := range all {
		version = max(version, f.Record.Known[node])
	}
	return version
}
