package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// existing returns the sequencers of the grid. Owners in a new grid without data directories list none before the
// time in which holders of an earlier run report.
func (c *importCommand) existing(ctx context.Context) ([]wire.SequencerRow, error) {
	for end := time.Now().Add(createTries); ; {
		rows, err := (&exportCommand{gridFlags: c.gridFlags}).names(ctx, streams{out: io.Discard, err: io.Discard}, false)
		if !errors.Is(err, errNotListed) || time.Now().After(end) {
			return rows, err
		}
		if !signal.Sleep(ctx, waitPause) {
			return nil, err
		}
	}
}
