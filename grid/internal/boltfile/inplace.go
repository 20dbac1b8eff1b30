package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// UpdateInPlace makes a change in one transaction of the database whose file was opened at a path. It
// fails too if the file is no longer there: a restart would not find its content.
func UpdateInPlace(db *bolt.DB, path string, opened os.FileInfo, change func(*bolt.Tx) error) error {
	if err := Guard(func() error { return db.Update(change) }); err != nil {
		return err
	}
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(opened, now) {
		return fmt.Errorf("%s was removed or replaced while this member ran", filepath.Base(path))
	}
	return nil
}
