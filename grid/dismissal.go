package grid

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// dismissal is an operator's request that this member leave the grid. It hands its tables over and
// leaves at its own pace, like a stopped member; Dismissed reports it to the embedding program.
type dismissal struct {
	state *state.State
	log   *slog.Logger

	once sync.Once
	done chan struct{} // closed when the member is dismissed
}

// serve begins to leave, and confirms it: the leader requires this member's own confirmation (R11).
func (d *dismissal) serve(context.Context, wire.DismissRequest) (wire.DismissResponse, error) {
	d.begin()
	return wire.DismissResponse{}, nil
}

// begin has this member leave. From here on it joins no grid.
func (d *dismissal) begin() {
	d.once.Do(func() {
		d.log.Warn("removal requested by an operator: this member hands over and leaves")
		d.state.Leave()
		close(d.done)
	})
}

// Dismissed returns a channel that is closed when an operator takes this member out of the grid
// (`snowgrid members remove`). The member then hands its tables over and leaves by itself; its
// handles continue like a client's. A program calls [Member.Leave] or [Member.Close] when it no
// longer needs them.
func (m *Member) Dismissed() <-chan struct{} { return m.dismissal.done }

// run leaves the grid at an operator's request. Without a majority it retries, until ctx ends.
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
			d.log.Info("left the grid at an operator's request; its handles continue")
			return
		}
		d.log.Warn("member removed by an operator has not left yet; retrying", "error", err)
		signal.Sleep(ctx, leaveAgain)
	}
}

// leaveAgain is the pause after a departure that failed without a majority.
const leaveAgain = 5 * time.Second
