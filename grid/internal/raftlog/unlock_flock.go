//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package raftlog

import (
	"os"
	"syscall"
)

// unlock releases the lock of a database that could not be opened or closed: closing
// its file is not enough, since a mapping of it may be left.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
