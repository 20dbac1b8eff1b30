package main

import (
	"context"
	"errors"
	"log/slog"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// limitMemory makes the garbage collector keep this process below nine tenths of limit, so that a
// burst of calls slows it down instead of getting it killed. GOMEMLIMIT and AUTOMEMLIMIT take
// precedence.
func limitMemory(ctx context.Context, log *slog.Logger, limit memlimit.Provider) {
	set, err := memlimit.Set(memlimit.WithProvider(limit))
	switch {
	case errors.Is(err, memlimit.ErrCgroupsNotSupported), errors.Is(err, memlimit.ErrNoCgroup):
		log.DebugContext(ctx, "no memory limit", "reason", err)
	case err != nil:
		log.WarnContext(ctx, "no memory limit: set GOMEMLIMIT to 90 % of this process's limit", "error", err)
	case set == math.MaxInt64:
		log.DebugContext(ctx, "no memory limit")
	default:
		log.InfoContext(ctx, "memory limit", "bytes", set)
	}
}
