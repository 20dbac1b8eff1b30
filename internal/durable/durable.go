// Package durable writes files that survive a crash of the process and of the machine, and locks
// files between processes.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// scratch is added to a file's name while its new content is written.
const scratch = ".new"

// Replace replaces a file's content, and has it on disk when it returns: after a crash at any
// moment the file has either the old content or the new one. A new file has a mode that only its
// user can read. written, if not nil, is called when the new content is on disk and the name still
// has the old one. Only one caller may replace a file at a time.
func Replace(path string, data []byte, written func()) error {
	if err := Write(path+scratch, data, 0o600); err != nil {
		return errors.Join(err, remove(path+scratch))
	}
	if written != nil {
		written()
	}
	if err := Rename(path+scratch, path); err != nil {
		return errors.Join(err, remove(path+scratch))
	}
	return nil
}

// Write writes a file and its content to the disk. Its name may still be lost: see [SyncDir].
func Write(path string, data []byte, mode os.FileMode) error {
	if err := remove(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// Rename renames a file or directory within its directory, and has the new name on disk when it returns.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(to))
}

// SyncDir has the names in a directory on disk when it returns.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return Sync(d)
}

// Sync flushes an open file or directory to the disk, and closes it.
func Sync(f *os.File) error { return errors.Join(f.Sync(), f.Close()) }

// remove removes a file, if there is one.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
