package grid

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/signal"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// dismissal is an operator's word that this member leaves the grid. It hands its tables
// over and leaves at its own pace, like a member that is stopped, and the program that
// runs it hears of it.
type dismissal struct {
	state *state.State
	log   *slog.Logger

	once sync.Once
	done chan struct{} // closed when the member is dismissed
}

func newDismissal(s *state.State, log *slog.Logger) *dismissal {
	return &dismissal{state: s, log: log, done: make(chan struct{})}
}

// calls returns the call by which the leader dismisses this member.
func (d *dismissal) calls() []*api.Call {
	return []*api.Call{api.Typed(wire.PathDismiss, d.serve).ForMembers()}
}

// serve begins to leave, and confirms it: the leader believes no other member's word for
// it (R11).
func (d *dismissal) serve(context.Context, wire.DismissRequest) (wire.DismissResponse, error) {
	d.begin()
	return wire.DismissResponse{}, nil
}

// begin has this member leave. From here on it joins no grid.
func (d *dismissal) begin() {
	d.once.Do(func() {
		d.log.Warn("an operator takes this member out of the grid: it hands over and leaves")
		d.state.Leave()
		close(d.done)
	})
}

// Dismissed returns a channel that is closed when an operator takes this member out of the
// grid (`snowgrid members remove`). The member hands its tables over and leaves by itself
// then; its handles continue as those of a client of the other members. A program calls
// [Member.Leave] or [Member.Close] when it has no further use for them.
func (m *Member) Dismissed() <-chan struct{} { return m.dismissal.done }

// run leaves the grid when an operator says so. Without a majority it tries again, until ctx ends.
func (d *dismissal) run(ctx context.Context, leave func(context.Context) error) {
	select {
	case <-d.done:
	case <-ctx.Done():
		return
	}
	for {
		err := leave(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			d.log.Info("this member has left the grid, as an operator says; own handles continue")
			return
		}
		d.log.Warn("the member that an operator took out has not left yet; retrying", "error", err)
		signal.Sleep(ctx, leaveAgain)
	}
}

// leaveAgain is the pause after a goodbye that failed for want of a majority.
const leaveAgain = 5 * time.Second
