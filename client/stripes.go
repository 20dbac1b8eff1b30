package client

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// stripesAtOnce is the number of stripes that are attached or released concurrently, fewer
// than session.ReturnsMax, since they are all calls to one member.
const stripesAtOnce = 8

// CreateStriped returns one new handle over several logical nodes of a named sequencer,
// 1 to sequencer.MaxStripes, creating the sequencer if the grid has none of that name.
// It is for a process that needs more than one node's IDs; order is by node, see
// [sequencer.Striped].
//
// Each call returns another handle with logical nodes of its own, independent of the one
// that CreateSequencer returns. [sequencer.Striped.Leave] releases the nodes, and so does
// the client's Leave; Close ends the handle too. If not all logical nodes can be attached,
// no handle is returned, and the attached ones are released; if ctx has ended, in the
// background, at the latest after the grid's window.
//
// Errors: sequencer.ErrInvalidConfig, for a number of stripes too; ErrConflict if the
// grid has the name with another definition (the message shows both); ErrNoFreeNode;
// ErrDestroyed if the sequencer was destroyed meanwhile; ErrClosed; and, when ctx
// ended, an error that matches ctx.Err() and ErrUnavailable.
func (c *Client) CreateStriped(ctx context.Context, name string, cfg sequencer.Config, stripes int) (*sequencer.Striped, error) {
	def, err := sequencer.Define(name, cfg)
	if err != nil {
		return nil, err
	}
	if err := def.CheckStripes(stripes); err != nil {
		return nil, err
	}
	req := wire.CreateRequestOf(def)
	ref, stamp, err := c.life(ctx, name, wire.PathCreate, req)
	if err != nil {
		return nil, err
	}
	var made []*entry
	var handles []*sequencer.Sequencer
	for range stripes {
		e, err := c.keep(ref, stamp, &entry{stripe: true})
		if err != nil {
			return nil, err // Close has ended those before
		}
		made, handles = append(made, e), append(handles, e.control.Handle())
	}
	err = together(made, func(e *entry) error { return e.control.Handle().AttachLogicalNode(ctx) })
	if err != nil {
		_ = c.giveBack(ctx, made) // what fails is tried on in the background
		return nil, fmt.Errorf("client: not all of %d stripes have a logical node: %w", stripes, err)
	}
	return sequencer.NewStriped(handles, c.leaver(made))
}

// leaver returns what ends stripes, once.
func (c *Client) leaver(stripes []*entry) func(context.Context) error {
	var left atomic.Bool
	return func(ctx context.Context) error {
		if c.ctx.Err() != nil || left.Swap(true) {
			return c.errClosed()
		}
		return c.giveBack(ctx, stripes)
	}
}

// giveBack gives the logical nodes of stripes back and ends their handles.
func (c *Client) giveBack(ctx context.Context, stripes []*entry) error {
	err := together(stripes, func(e *entry) error {
		err := e.control.Handle().DetachLogicalNode(ctx)
		if rel, held := e.control.Close(); held { // it was being replaced until ctx ended
			c.releaseLater(e.control.Ref(), rel)
		}
		if settled(err) {
			return nil
		}
		return err
	})
	c.forget(stripes)
	return err
}

// together calls f for each entry, several concurrently, and returns the first error in the
// order of the entries.
func together(entries []*entry, f func(*entry) error) error {
	errs := make([]error, len(entries))
	var all sync.WaitGroup
	for first := range min(stripesAtOnce, len(entries)) {
		all.Go(func() {
			for i := first; i < len(entries); i += stripesAtOnce {
				errs[i] = f(entries[i])
			}
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}
