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
