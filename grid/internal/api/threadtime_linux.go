package api

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// stretch is a part of a goroutine that computes, on one thread.
type stretch struct {
	since time.Time
	used  time.Duration // by the thread
}

// beginStretch begins one; the same goroutine ends it.
func beginStretch() *stretch {
	runtime.LockOSThread()
	return &stretch{time.Now(), threadTime()}
}

// end ends a stretch, and returns the processor time that it took. The time that passed would be
// many times that in a process that waits for processors itself.
func (s *stretch) end() time.Duration {
	defer runtime.UnlockOSThread()
	return min(threadTime()-s.used, time.Since(s.since)) // the latter is 0 in a test with virtual time
}

// threadTime returns the processor time that this thread has used.
func threadTime() time.Duration {
	var used unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used) // it fails on no thread of this process
	return time.Duration(used.Nano())
}
