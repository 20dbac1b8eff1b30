//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package durable

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// TryLock fails: without locks two processes would use one file.
func TryLock(*os.File) (taken bool, err error) {
	return false, fmt.Errorf("files cannot be locked on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Unlock does nothing.
func Unlock(*os.File) {}
