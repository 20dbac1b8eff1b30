//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package registrar

import (
	"errors"
	"os"
)

// flock refuses the directory: two processes with one number are recognized by the grid, but
// not before they have both registered.
func flock(*os.File) (taken bool, err error) {
	return false, errors.New("files cannot be locked on this operating system")
}
