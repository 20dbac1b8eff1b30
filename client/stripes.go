package client

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// CreateStriped returns one new handle over several logical nodes of a named sequencer, 1 to
// 64, and creates the sequencer if the grid has none with that name. It serves a
// process that needs more IDs than one node has; order is per node, see [sequencer.Striped].
//
// Each call returns another handle with its own logical nodes, independent of the handle that
// CreateSequencer returns. [sequencer.Striped.Leave] releases the nodes, and so does the client's
// Leave; Close ends the handle too. If not all logical nodes can be attached, no handle is
// returned, and the attached ones are released; if ctx has ended, in the background, at the latest
// after the grid's window.
//
// Errors: sequencer.ErrInvalidConfig, for a number of stripes too; ErrConflict if the grid has the
// name with another definition (the message has both); ErrNoFreeNode; ErrDestroyed if the sequencer
// was destroyed during the call; ErrClosed; and, when ctx ended, an error that matches ctx.Err()
// and ErrUnavailable.
func (c *Client) CreateStriped(ctx context.Context, name string, cfg sequencer.Config,
	stripes int) (*sequencer.Striped, error) {
	def, err := sequencer.Define(name, cfg)
	if err != nil {
		return nil, err
	}
	if err := attachment.CheckStripes(def, stripes); err != nil {
		return nil, err
	}
	ctx, end := c.spans.named(ctx, "create", name)
	ref, stamp, err := c.life(ctx, name, wire.PathCreate, wire.CreateRequestOf(def))
	var s *sequencer.Striped
	if err == nil {
		s, err = c.handles.Striped(ctx, stripes, func() (*entry, error) {
			return c.keep(ref, stamp, &entry{Stripe: true}, nil)
		})
	}
	end(err)
	return s, err
}
