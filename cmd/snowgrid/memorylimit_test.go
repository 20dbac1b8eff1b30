package main

import (
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestLimitMemory(t *testing.T) {
	t.Setenv("AUTOMEMLIMIT", "0.9") // and the present value comes back at the end
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for _, c := range []struct {
		name  string
		limit memlimit.Provider
		want  int64
		said  string
	}{
		{"a limit", memlimit.Limit(1 << 30), 966_367_641, "level=INFO msg=\"memory limit\" bytes=966367641"},
		{"none", func() (uint64, error) { return 0, memlimit.ErrNoLimit }, math.MaxInt64,
			"level=DEBUG msg=\"no memory limit\"\n"},
		{"no cgroups", func() (uint64, error) { return 0, memlimit.ErrCgroupsNotSupported }, math.MaxInt64,
			"level=DEBUG msg=\"no memory limit\" reason="},
		{"unreadable", func() (uint64, error) { return 0, errors.New("memory.max: not a number") }, math.MaxInt64,
			"level=WARN msg=\"no memory limit: set GOMEMLIMIT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			var log strings.Builder
			limitMemory(t.Context(), slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), c.limit)
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("memory limit %d, want %d", got, c.want)
			}
			if !strings.Contains(log.String(), c.said) {
				t.Errorf("log %q, want %q in it", log.String(), c.said)
			}
		})
	}
}
