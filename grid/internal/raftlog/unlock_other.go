//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package raftlog

import "os"

// unlock does nothing: here the lock of a damaged database ends with the process.
func unlock(*os.File) {}
