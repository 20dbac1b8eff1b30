package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// CreateSequencer returns this client's handle on a named sequencer, creates the sequencer if the
// store has none with that name, and attaches a logical node. While every logical node has a holder
// it waits for one until ctx ends. There is one handle per name and client: an existing handle is
// returned as it is, even if Detached. If only the attach failed, the handle is returned, Detached,
// with the error; calling again retries the attach.
//
// Errors: sequencer.ErrInvalidConfig; ErrConflict if the store has the name with another definition, or
// had it before a destroy and IDs could repeat (the message has both definitions); ErrDamaged;
// ErrClosed; and, when ctx ended, an error that matches ctx.Err() and either ErrNoFreeNode or
// ErrUnavailable.
func (c *Client) CreateSequencer(ctx context.Context, name string, cfg sequencer.Config) (*sequencer.Sequencer, error) {
	def, err := sequencer.Define(name, cfg)
	if err != nil {
		return nil, err
	}
	end := func(error) {}
	if c.handles.Live(name) == nil {
		ctx, end = c.spans.Begin(ctx, "create", slog.String("sequencer", name))
	}
	s, err := c.handles.Create(ctx, def, func() (*entry, error) {
		d, err := c.ensure(ctx, def)
		if err != nil {
			return nil, err
		}
		return c.keep(d, &entry{Owed: true})
	})
	end(err)
	return s, err
}

// OpenSequencer returns this client's handle on a sequencer that exists, Detached unless
// this client has attached it before.
//
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrDamaged, ErrClosed; and, when ctx
// ended, an error that matches ctx.Err() and ErrUnavailable.
func (c *Client) OpenSequencer(ctx context.Context, name string) (*sequencer.Sequencer, error) {
	if _, err := sequencer.Define(name, sequencer.Config{}); err != nil {
		return nil, err
	}
	return c.handles.Open(ctx, name, func() (*entry, error) {
		d, err := c.existing(ctx, name)
		if err != nil {
			return nil, err
		}
		return c.keep(d, &entry{})
	})
}

// CreateStriped returns one new handle over several logical nodes of a named sequencer, 1 to
// 64, and creates the sequencer if the store has none with that name. It serves a
// process that needs more IDs than one node has; order is per node, see [sequencer.Striped].
//
// Each call returns another handle with its own logical nodes. [sequencer.Striped.Leave] returns
// the nodes, and so does the client's Leave. If not all logical nodes can be attached before ctx
// ends, no handle is returned, and the attached nodes are returned to the store.
//
// Errors: as for CreateSequencer; ErrDestroyed if the sequencer was destroyed during the call.
func (c *Client) CreateStriped(ctx context.Context, name string, cfg sequencer.Config, stripes int) (*sequencer.Striped,
	error) {
	def, err := sequencer.Define(name, cfg)
	if err != nil {
		return nil, err
	}
	if err := attachment.CheckStripes(def, stripes); err != nil {
		return nil, err
	}
	ctx, end := c.spans.Begin(ctx, "create", slog.String("sequencer", name))
	d, err := c.ensure(ctx, def)
	var s *sequencer.Striped
	if err == nil {
		s, err = c.handles.Striped(ctx, stripes, func() (*entry, error) { return c.keep(d, &entry{Stripe: true}) })
	}
	end(err)
	return s, err
}

// Forget ends this client's handle on a named sequencer and returns its logical node, so
// that the client keeps nothing of the name: the handle returns sequencer.ErrClosed from
// then on, and the next create or open makes another. Handles of CreateStriped stay. A name
// without a handle is ignored.
//
// Errors: sequencer.ErrClosed; and, when ctx ended, an error that matches ctx.Err() and
// ErrUnavailable. The handle has ended then too, unless another create or open of the name
// was in progress, and its logical node is returned in the background.
func (c *Client) Forget(ctx context.Context, name string) error { return c.handles.Forget(ctx, name) }

// keep makes a handle on a life.
func (c *Client) keep(d record.Document, e *entry) (*entry, error) {
	e.State = &holder{client: c, ref: d.Ref(), mark: d.Mark, counted: d.Counted}
	_, e.Control = attachment.New(d.Ref(), e.State, c.clock)
	e.State.control = e.Control
	if err := c.handles.Put(e); err != nil {
		return nil, err
	}
	return e, nil
}

// existing returns the document of a name's life.
//
// Errors: sequencer.ErrNotFound, ErrDamaged, and the errors of persist.
func (rs *recordStore) existing(ctx context.Context, name string) (d record.Document, err error) {
	err = rs.persist(ctx, name, func() (err error) {
		var revision Revision
		d, revision, err = rs.document(ctx, name)
		if errors.Is(err, ErrNoRecord) || err == nil && d.Phase != record.Alive {
			return fmt.Errorf("sequencer %q: %w", name, sequencer.ErrNotFound)
		}
		if err != nil {
			return err
		}
		if err := rs.stateWindow(ctx, d, revision); err != nil {
			return err
		}
		return rs.initialise(ctx, d, revision)
	})
	return d, err
}

// stateWindow states this client's window in a document that has none, if the store may lose
// acknowledged writes. There the quarantine after a failover protects grants of one window at most,
// so another window is refused.
//
// Errors: sequencer.ErrInvalidConfig, errAgain if the document has to be read again, and the store's
// errors.
func (rs *recordStore) stateWindow(ctx context.Context, d record.Document, revision Revision) error {
	if rs.cfg.FailoverBound == 0 {
		return nil
	}
	window := clustertime.SpanOf(rs.cfg.Window)
	next, lacking := d.State(window, newNonce())
	switch {
	case lacking:
		return rs.begin(ctx, next, revision)
	case d.Window != window:
		return failure.Errorf(sequencer.ErrInvalidConfig, "store: Config.Window: %v; sequencer %q began with clients whose "+
			"window is %v, and all its clients need the same one with FailoverBound; give that one, or use another name",
			rs.cfg.Window, d.Definition.Name(), d.Window.Duration())
	}
	return nil
}

// ensure returns the document of a name's life with a definition, and begins one if there is none.
// It completes an interrupted destroy first (H7).
//
// Errors: sequencer.ErrInvalidConfig, ErrConflict, ErrDamaged, and the errors of persist.
func (c *Client) ensure(ctx context.Context, def sequencer.Definition) (d record.Document, err error) {
	defer c.creating(def.Name(), nil)
	err = c.persist(ctx, def.Name(), func() (err error) {
		d, err = c.ensureOnce(ctx, def)
		if err != nil && !errors.Is(err, errAgain) && !isFinal(err) {
			c.creating(def.Name(), err)
		}
		return err
	})
	return d, err
}

func (c *Client) ensureOnce(ctx context.Context, def sequencer.Definition) (record.Document, error) {
	d, revision, err := c.document(ctx, def.Name())
	switch {
	case errors.Is(err, ErrNoRecord):
		if err := c.checkNew(ctx, def); err != nil {
			return d, err
		}
		return d, c.begin(ctx, record.NewDocument(def, randomBytes(), newNonce()), "")
	case err != nil:
		return d, err
	case d.Phase == record.Destroying:
		err := c.destroyLife(ctx, d.Ref())
		if errors.Is(err, sequencer.ErrDestroyed) {
			err = nil // another client was faster
		}
		return d, orAgain(err)
	case d.Phase == record.Destroyed:
		if err := c.stateWindow(ctx, d, revision); err != nil {
			return d, err
		}
		if err := attachment.CheckNew(def, c.clock.Now()); err != nil {
			return d, err
		}
		next, err := d.Recreate(def, randomBytes(), newNonce())
		if err != nil {
			return d, err
		}
		return d, c.begin(ctx, next, revision)
	case d.Definition != def:
		return d, failure.Errorf(sequencer.ErrConflict, "sequencer %q: conflicting definition: the store has %v, requested "+
			"was %v; use the existing definition, or another name", def.Name(), d.Definition, def)
	}
	if err := c.stateWindow(ctx, d, revision); err != nil {
		return d, err
	}
	return d, c.initialise(ctx, d, revision)
}

// begin writes the document of a new life. It is read again in any case, since another
// client may have been faster.
func (rs *recordStore) begin(ctx context.Context, d record.Document, revision Revision) error {
	_, err := rs.swap(ctx, rs.documentEntry(d, revision))
	return orAgain(err)
}

// checkNew returns an error if a name without a document cannot be created: it may not be new
// (sequencer.Definition.CheckNew), or the store has records of it, so that its document was deleted.
func (c *Client) checkNew(ctx context.Context, def sequencer.Definition) error {
	if err := attachment.CheckNew(def, c.clock.Now()); err != nil {
		return err
	}
	keys := record.KeysOf(c.cfg.Prefix, def.Name())
	listed, err := c.list(ctx, keys.Folder())
	if err != nil {
		return fmt.Errorf("store: sequencer %q: %w", def.Name(), err)
	}
	for _, e := range listed {
		_, part, _ := record.ParseKey(c.cfg.Prefix, e.Key)
		if part != record.PartRecord {
			continue
		}
		if e.Body == nil {
			if e, err = c.load(ctx, e.Key); err != nil {
				return fmt.Errorf("store: sequencer %q: %w", def.Name(), err)
			}
		}
		if len(e.Body) == 0 {
			continue // released by the original implementation, which has no documents
		}
		if _, _, err := c.document(ctx, def.Name()); !errors.Is(err, ErrNoRecord) {
			return orAgain(err) // it was made since
		}
		return failure.Errorf(ErrDamaged, "store: %q is missing, and the store has %q; restore it from a backup, or create "+
			"a sequencer of another name", keys.Document(), e.Key)
	}
	return nil
}

func (rs *recordStore) documentEntry(d record.Document, revision Revision) Entry {
	return Entry{Key: record.KeysOf(rs.cfg.Prefix, d.Definition.Name()).Document(), Body: d.Encode(), Revision: revision}
}

func (rs *recordStore) markerEntry(name string, m record.Marker, revision Revision) Entry {
	return Entry{Key: record.KeysOf(rs.cfg.Prefix, name).Marker(), Body: m.Encode(), Revision: revision}
}

func (rs *recordStore) recordEntry(name string, node sequencer.NodeID, r record.Record, revision Revision) Entry {
	return Entry{Key: record.KeysOf(rs.cfg.Prefix, name).Record(node), Body: r.Encode(), Revision: revision,
		Meta: r.Meta()}
}
