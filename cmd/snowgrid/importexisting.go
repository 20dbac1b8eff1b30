package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// existing returns the grid's sequencers by name, or the destroyed ones. Owners in a new grid without data
// directories list none before the time in which holders of an earlier run report.
func (c *importCommand) existing(ctx context.Context, destroyed bool) (map[string]exportedName, error) {
	for end := time.Now().Add(createTries); ; {
		rows, err := (&exportCommand{gridFlags: c.gridFlags}).names(ctx, streams{out: io.Discard, err: io.Discard}, destroyed)
		if errors.Is(err, errNotListed) && time.Now().Before(end) && signal.Sleep(ctx, waitPause) {
			continue
		}
		if err != nil {
			return nil, err
		}
		byName := map[string]exportedName{}
		for _, row := range rows {
			byName[row.Name] = exportedRow(row)
		}
		return byName, nil
	}
}

// restored returns the destroyed sequencers of an import that is continued and was complete: the grid has its quotas,
// which are restored last.
func (c *importCommand) restored(ctx context.Context, file *exportFile) (map[string]exportedName, error) {
	if !c.Continue || len(file.destroyed) == 0 || len(file.quotas) == 0 {
		return nil, nil
	}
	has, err := c.settings(ctx, wire.SettingsRequest{})
	if err != nil {
		return nil, err
	}
	for _, q := range file.quotas {
		if !slices.ContainsFunc(has.Quotas, func(u wire.QuotaUse) bool { return u.Quota == q }) {
			return nil, nil
		}
	}
	return c.existing(ctx, true)
}
