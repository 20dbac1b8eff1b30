package grid

import (
	"context"

	"github.com/snowgrid/snowgrid/sequencer"
)

// CreateSequencer returns this member's handle on a named sequencer, creates the sequencer if the
// grid has none with that name, and attaches a logical node. There is one handle per name and
// member: an existing handle is returned as it is, even if Detached. If only the attach failed, the
// handle is returned, Detached, with the error; calling again retries the attach.
//
// Errors: sequencer.ErrInvalidConfig; ErrConflict if the grid has the name with another definition
// (the message has both); ErrNoFreeNode; ErrClosed; and, when ctx ended, an error that matches
// ctx.Err() and ErrUnavailable.
func (m *Member) CreateSequencer(ctx context.Context, name string, cfg sequencer.Config) (*sequencer.Sequencer, error) {
	return m.handles.CreateSequencer(ctx, name, cfg)
}

// CreateStriped returns one new handle over several logical nodes of a named sequencer, 1 to
// 64, and creates the sequencer if the grid has none with that name. It serves a
// process that needs more IDs than one node has; order is per node, see [sequencer.Striped].
//
// Each call makes another handle with its own logical nodes, besides the handle that
// CreateSequencer returns. [sequencer.Striped.Leave] releases the nodes, and so does the member's
// Leave; Close ends the handle too. If not all logical nodes can be attached, no handle is
// returned, and the attached ones are released; if ctx has ended, in the background, at the latest
// after the grid's window.
//
// Errors: sequencer.ErrInvalidConfig, for a number of stripes too; ErrConflict if the grid has the
// name with another definition (the message has both); ErrNoFreeNode; ErrDestroyed if the sequencer
// was destroyed during the call; ErrClosed; and, when ctx ended, an error that matches ctx.Err()
// and ErrUnavailable.
func (m *Member) CreateStriped(ctx context.Context, name string, cfg sequencer.Config,
	stripes int) (*sequencer.Striped, error) {
	return m.handles.CreateStriped(ctx, name, cfg, stripes)
}

// OpenSequencer returns this member's handle on a sequencer that exists,
// Detached unless this member has attached it before.
//
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrClosed; and, when ctx
// ended, an error that matches ctx.Err() and ErrUnavailable.
func (m *Member) OpenSequencer(ctx context.Context, name string) (*sequencer.Sequencer, error) {
	return m.handles.OpenSequencer(ctx, name)
}

// DestroySequencer ends the life that the name has at the moment, in the whole
// grid. See [sequencer.Sequencer.Destroy], which ends no life but its own.
//
// The name can be created again, with IDs above all earlier ones. A create with an epoch or a layout with
// which they could not be is refused with sequencer.ErrConflict, unless 1,024 other names of the same
// partition were destroyed in between.
//
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrClosed; and, when ctx
// ended, an error that matches ctx.Err() and ErrUnavailable.
func (m *Member) DestroySequencer(ctx context.Context, name string) error {
	return m.handles.DestroySequencer(ctx, name)
}
