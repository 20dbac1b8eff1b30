package registrar

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/registration"
)

// LockFile is locked while a process uses a client's data directory.
const LockFile = ".lock"

// Dir is a client's data directory, which no other process uses at the same time. Members have
// another kind of directory.
type Dir struct {
	path string
	lock *os.File
}

// OpenDir creates the directory if there is none, and locks it.
//
// Errors: sequencer.ErrInvalidConfig, also if another process uses the directory.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, invalid("cannot create %s: %v", path, err)
	}
	if err := Restrict(path, []string{FinalFile, TempFile, LockFile, NodesFile}); err != nil {
		return nil, invalid("%v", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, LockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, invalid("%v", err)
	}
	taken, err := durable.TryLock(lock)
	if err == nil && !taken {
		err = errors.New("another process uses it; end that one, or give this one a directory of its own")
	}
	if err != nil {
		return nil, errors.Join(invalid("%s: %v", path, err), lock.Close())
	}
	return &Dir{path: path, lock: lock}, nil
}

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// Close unlocks the directory.
func (d *Dir) Close() error { return d.lock.Close() }

// Read returns the number and the application that the directory has.
//
// Errors: sequencer.ErrInvalidConfig for a file that cannot be read. It is never a reason
// for another number.
func (d *Dir) Read() (registration.Files, error) {
	path := filepath.Join(d.path, FinalFile)
	data, err := readFile(path)
	if err != nil {
		return registration.Files{}, err
	}
	var files registration.Files
	if data != nil {
		n, err := decode(data, false)
		switch {
		case err != nil:
			return registration.Files{}, invalid("%s is damaged: %v; restore it, or start with an empty directory as a new process", path, err)
		case n.Member != "":
			return registration.Files{}, invalid("%s belongs to member %.64s of a grid; give the client a directory of its own",
				path, n.Member)
		}
		files.Final = n.Number
	}
	files.Temp, err = ReadTemp(d.path)
	return files, err
}

// WriteTemp implements [Store].
func (d *Dir) WriteTemp(n registration.Number) error { return WriteTemp(d.path, n) }

// RemoveTemp implements [Store].
func (d *Dir) RemoveTemp() error { return RemoveTemp(d.path) }

// WriteFinal implements [Store].
func (d *Dir) WriteFinal(n registration.Number) error {
	data, err := encode(n, false)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(d.path, FinalFile), data, func() { AtCrashPoint(BeforeRename) })
}
