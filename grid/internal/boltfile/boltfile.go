// Package boltfile opens files of bbolt that a disk may have damaged. bbolt trusts its
// pages: over a damaged one it ends the process, or follows a circle of pages until memory
// ends, and if the newer of its two descriptions cannot be read it takes the older one, and so
// forgets a transaction that was acknowledged. [Check] therefore walks a file before bbolt
// opens it: both descriptions are whole and one transaction apart, and every page that the
// last transaction can reach is what it says, with every offset inside it, every key in
// order, and no page reached twice.
//
// Keys and values are not covered by this. Their stores add checksums of their own.
package boltfile

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// lockTimeout bounds a new process's wait for its predecessor.
const lockTimeout = time.Second

// ErrDamaged is wrapped by every error about the content of a file.
var ErrDamaged = errors.New("the file is damaged")

// Damaged returns an error that wraps [ErrDamaged], with a reason.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// Options returns the options with which a file is opened. Its free pages are not stored.
func Options() *bolt.Options {
	return &bolt.Options{Timeout: lockTimeout, FreelistType: bolt.FreelistMapType, NoFreelistSync: true}
}

// Check checks the pages of a file that exists and is not empty. No process may write to it.
func Check(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case info.Size() == 0:
		return errors.New("it is empty (0 bytes)")
	}
	return checkPages(file, info.Size())
}

// Guard runs f, which reads a file, and returns an error for a panic or a fault in the mapped file: a
// file damaged or truncated while open does not end the process.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = Damaged("%v", p)
		}
	}()
	return f()
}
