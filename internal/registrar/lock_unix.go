//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package registrar

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the exclusive lock on an open file, which ends with the process. taken is false if
// another open file has it.
func flock(file *os.File) (taken bool, err error) {
	for {
		switch err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}
