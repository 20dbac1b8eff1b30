package sonyflake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// maxBehind bounds the time for which the sequencer's clock may be behind a StartTime.
const maxBehind = 5 * time.Second

// NextID returns the next ID from the sequencer. It waits while the grid or the store is unavailable, however long; see
// [Sonyflake.NextIDContext], also for the errors.
func (s *Sonyflake) NextID() (int64, error) { return s.NextIDContext(context.Background()) }

// NextIDContext returns the next ID from the sequencer, or 0 and an error when ctx ends a wait. A call that does not
// wait does not check ctx. IDs begin after StartTime's time unit, so a call waits for its end.
//
// Errors: as from [sequencer.Sequencer.Next]; ErrOverTimeLimit in addition to [sequencer.ErrEpochExhausted];
// ErrStartTimeAhead if the sequencer's clock is 5 s or more behind StartTime; and [sequencer.ErrInvalidConfig] for an
// ID that is not above Last, after a large step back in time.
func (s *Sonyflake) NextIDContext(ctx context.Context) (int64, error) {
	for {
		id, err := s.source.Next(ctx)
		switch {
		case errors.Is(err, sequencer.ErrEpochExhausted):
			return 0, failure.Errorf(ErrOverTimeLimit, "sonyflake: next: %w", err)
		case err != nil:
			return 0, fmt.Errorf("sonyflake: next: %w", err)
		case int64(id) >= s.first:
			return int64(id), nil
		case int64(id) <= s.last:
			return 0, failure.Errorf(sequencer.ErrInvalidConfig,
				"sonyflake: next: ID %d is not above Settings.Last, %d; check the clocks, or create the sequencer with an "+
					"earlier epoch",
				id, s.last)
		}
		if err := s.awaitFirst(ctx, id); err != nil {
			return 0, err
		}
	}
}

// awaitFirst waits from an ID's time to one millisecond before the first ID's. The caller passes the rest by calls of
// Next, which begin each millisecond on time: a timer would add the part of a millisecond that id.Time lacks.
func (s *Sonyflake) awaitFirst(ctx context.Context, id sequencer.ID) error {
	at := s.definition.Decompose(id).Time
	if start := s.earlier.at(0); start.Sub(at) >= maxBehind {
		return failure.Errorf(ErrStartTimeAhead, "sonyflake: next: StartTime %s: the sequencer is at %s; check the clocks",
			text(start), text(at))
	}
	select {
	case <-time.After(s.definition.Decompose(sequencer.ID(s.first)).Time.Sub(at) - time.Millisecond):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("sonyflake: next: wait for the end of StartTime's time unit: %w", ctx.Err())
	}
}
