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
		attrs := []any{"elapsed", time.Since(began).Round(time.Second), "partitions_owned", owned, "copies", copies}
		if outOfRoster(s) {
			attrs = append(attrs, "waits_for", "the others to stop too, for up to 10 s: a majority needs its vote")
		}
		logger.InfoContext(ctx, "member still leaving", attrs...)
	}
}

// outOfRoster reports whether the replying member is no longer in the roster, which has others. Its server may still
// have a vote.
func outOfRoster(s grid.Status) bool {
	return len(s.Members) > 0 &&
		!slices.ContainsFunc(s.Members, func(i grid.MemberInfo) bool { return i.Incarnation == s.Answering })
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
