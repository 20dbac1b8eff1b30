//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// flock fails: without locks two processes would take one record.
func flock(*os.File) (taken bool, err error) {
	return false, fmt.Errorf("files cannot be locked on %s: %w; use etcd, S3 or a database", runtime.GOOS, errors.ErrUnsupported)
}

func funlock(*os.File) {}
