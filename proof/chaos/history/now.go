//go:build linux

package history

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time on the machine's monotonic clock, which all its processes share
// and no step of the wall clock moves.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("history: no monotonic clock: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
