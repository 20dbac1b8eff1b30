package grid

import (
	"context"

	"github.com/snowgrid/snowgrid/sequencer"
)

// CreateSequencer returns this member's handle on a named sequencer, creating
// the sequencer if the grid has none of that name, and attaches a logical node.
// There is one handle per name and member: a handle that is there already is
// returned as it is, Detached too. If only the attach failed, the handle is
// returned, Detached, beside the error; calling again tries to attach it again.
//
// Errors: sequencer.ErrInvalidConfig; ErrConflict if the grid has the name with
// another definition (the message shows both); ErrNoFreeNode; ErrClosed; and,
// when ctx ended, an error that matches ctx.Err() and ErrUnavailable.
func (m *Member) CreateSequencer(ctx context.Context, name string, cfg sequencer.Config) (*sequencer.Sequencer, error) {
	return m.handles.CreateSequencer(ctx, name, cfg)
}

// CreateStriped returns one new handle over several logical nodes of a named sequencer,
// 1 to sequencer.MaxStripes, creating the sequencer if the grid has none of that name.
// It is for a process that needs more than one node's IDs; order is by node, see
// [sequencer.Striped].
//
// Each call makes another handle with logical nodes of its own, beside the one that
// CreateSequencer returns. [sequencer.Striped.Leave] gives the nodes back, and so does
// the member's Leave; Close ends the handle too. If not all logical nodes can be
// attached, no handle is returned, and the attached ones are released; if ctx has ended,
// in the background, at the latest after the grid's window.
//
// Errors: sequencer.ErrInvalidConfig, for a number of stripes too; ErrConflict if the
// grid has the name with another definition (the message shows both); ErrNoFreeNode;
// ErrDestroyed if the sequencer was destroyed meanwhile; ErrClosed; and, when ctx
// ended, an error that matches ctx.Err() and ErrUnavailable.
func (m *Member) CreateStriped(ctx context.Context, name string, cfg sequencer.Config, stripes int) (*sequencer.Striped, error) {
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
// Errors: sequencer.ErrInvalidConfig, ErrNotFound, ErrClosed; and, when ctx
// ended, an error that matches ctx.Err() and ErrUnavailable.
func (m *Member) DestroySequencer(ctx context.Context, name string) error {
	return m.handles.DestroySequencer(ctx, name)
}
