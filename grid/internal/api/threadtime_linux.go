package api

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

type stretch struct {
	since time.Time
	used  time.Duration // by the thread
}

func beginStretch() *stretch {
	runtime.LockOSThread()
	return &stretch{time.Now(), threadTime()}
}

// end returns the processor time that the stretch took. More time passes in a process that waits for processors itself.
func (s *stretch) end() time.Duration {
	defer runtime.UnlockOSThread()
	return min(threadTime()-s.used, time.Since(s.since)) // the latter is 0 in a test with virtual time
}

func threadTime() time.Duration {
	var used unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used) // it fails on no thread of this process
	return time.Duration(used.Nano())
}
