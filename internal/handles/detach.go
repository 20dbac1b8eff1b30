package handles

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// DetachAll gives the logical node of every handle back, all concurrently, and returns
// the errors of those that were not.
//
// Errors: those of [sequencer.Sequencer.DetachLogicalNode], but for those that say that
// nothing is held.
func (r *Registry[S]) DetachAll(ctx context.Context) error {
	entries := r.All()
	failed := make([]error, len(entries))
	var all sync.WaitGroup
	for i, e := range entries {
		all.Go(func() {
			if err := e.Control.Handle().DetachLogicalNode(ctx); err != nil && !Settled(err) {
				failed[i] = err
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// DetachIdle gives an idle handle's logical node back and logs a failure. The caller
// looks for idle handles by [sequencer.Control.Idle], and looks again after a failure.
func DetachIdle(ctx context.Context, control *sequencer.Control, within time.Duration, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := control.DetachIdle(ctx); err != nil && !Settled(err) {
		log.Info("idle logical node not given back yet; retrying", "sequencer", control.Handle().Name(), "error", err)
	}
}

// Settled reports whether a detach's error means that nothing is held.
func Settled(err error) bool {
	return errors.Is(err, sequencer.ErrDetached) || errors.Is(err, sequencer.ErrDestroyed) || errors.Is(err, sequencer.ErrClosed)
}
