package handles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// leaveLeast is the minimum time for which a leaving client waits for answers.
const leaveLeast = time.Second

// Leave detaches all handles from their logical nodes concurrently, and returns when no release is
// pending. A node with an ended grant is free without a release. Without answers, Leave therefore
// returns when all grants have ended, or after limit, the longest grant.
//
// Errors: as [sequencer.Sequencer.DetachLogicalNode], except errors that report a handle without a
// node; when ctx ends, an error that matches ctx.Err() and sequencer.ErrUnavailable; and
// sequencer.ErrUnavailable if the grants ended first.
func (r *Registry[S]) Leave(ctx context.Context, releases *Releases, clock *Clock, limit time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, r.leaveWithin(releases, clock.Now(), limit))
	defer cancel()
	failed := r.detachAll(bounded)
	if err := releases.Await(bounded); err != nil && failed == nil {
		failed = fmt.Errorf("%s: leave: not every logical node was released: %w: %w", r.tasks.pkg,
			sequencer.ErrUnavailable, err)
	}
	if failed != nil && bounded.Err() != nil && !errors.Is(bounded.Err(), ctx.Err()) && r.tasks.Err() == nil {
		return failure.Errorf(sequencer.ErrUnavailable, "%s: leave: logical nodes not released before their grants ended: %s",
			r.tasks.pkg, failed.Error())
	}
	return failed
}

// leaveWithin returns for how long a client that leaves at a cluster time waits for answers.
func (r *Registry[S]) leaveWithin(releases *Releases, now clustertime.Tick, limit time.Duration) time.Duration {
	within := min(leaveLeast, limit)
	if releases.inProgress() {
		return limit
	}
	for _, e := range r.All() {
		if held, attached := e.Control.Held(); attached {
			within = max(within, held.Grant.Until.Sub(now).Duration())
		}
	}
	return min(within, limit)
}

// detachAll detaches all handles from their logical nodes, and returns the errors.
func (r *Registry[S]) detachAll(ctx context.Context) error {
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
// looks for idle handles by [attachment.Control.Idle], and looks again after a failure.
func DetachIdle(ctx context.Context, control *attachment.Control, within time.Duration, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := control.DetachIdle(ctx); err != nil && !Settled(err) {
		log.Info("idle logical node not given back yet; retrying", "sequencer", control.Handle().Name(), "error", err)
	}
}

// Settled reports whether a detach's error means that nothing is held.
func Settled(err error) bool {
	return errors.Is(err, sequencer.ErrDetached) || errors.Is(err, sequencer.ErrDestroyed) ||
		errors.Is(err, sequencer.ErrClosed)
}
