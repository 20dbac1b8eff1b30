package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// leaveReportEvery is the interval between progress logs during a leave.
const leaveReportEvery = 2 * time.Second

// reportLeaving logs the partitions that a member which leaves still has, until ctx ends.
func reportLeaving(ctx context.Context, status func() grid.Status, logger *slog.Logger) {
	began := time.Now()
	ticker := time.NewTicker(leaveReportEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s := status()
		if ctx.Err() != nil {
			return
		}
		owned, copies := partitionsOf(s)
		logger.InfoContext(ctx, "member still leaving", "elapsed", time.Since(began).Round(time.Second), "partitions_owned",
			owned, "copies", copies)
	}
}

// partitionsOf counts the replying member's owned partitions and its backup copies.
func partitionsOf(s grid.Status) (owned, copies int) {
	for _, p := range s.Partitions {
		if p.Owner == s.Answering {
			owned++
		} else if slices.Contains(p.InSync, s.Answering) {
			copies++
		}
	}
	return owned, copies
}
