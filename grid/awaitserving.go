package grid

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

func (m *Member) awaitServing(ctx context.Context) error {
	report := time.NewTimer(waitsQuietly)
	defer report.Stop()
	for {
		changed := m.state.Changed()
		if err := m.state.Failure(); err != nil {
			return err
		}
		why := m.health.notServing()
		if why == nil {
			return formation.SameSettings(m.state.Roster().Settings, m.cfg.stated())
		}
		select {
		case <-changed:
		case <-report.C:
			m.log.Info("still waiting for the grid", "reason", refusal.Unprefixed(why))
			report.Reset(waitReported)
		case <-ctx.Done():
			why = cmp.Or(m.health.notServing(), errors.New("it became ready after the deadline"))
			late := failure.Errorf(sequencer.ErrUnavailable, "%w", ctx.Err())
			return failure.Errorf(why, "grid: start: the member does not serve yet: %s: %w", refusal.Unprefixed(why), late)
		}
	}
}

const (
	// waitsQuietly is for how long a member that starts waits before it logs the reason.
	waitsQuietly = 10 * time.Second
	// waitReported is the interval of the reports after the first.
	waitReported = time.Minute
)
