//go:build unix

package main

import (
	"math"
	"syscall"
)

// filesMax returns the number of files that the process may open.
func filesMax() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return filesUnknown
	}
	return int(min(uint64(files.Cur), math.MaxInt32)) //nolint:gosec,unconvert // bounded; signed on some systems
}
