package raftlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
	"github.com/snowgrid/snowgrid/internal/durable"
)

// Open opens or creates the log in dir, and dir itself, and reads all of it: an error that wraps
// [boltfile.ErrDamaged] means corrupted content. Only one process at a time may have it open.
func Open(dir string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("grid: cannot create data directory %s: %w", dir, err)
	}
	path := filepath.Join(dir, File)
	info, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err == nil && info.Size() > 0 {
		err = checkPages(path)
	}
	if err == nil || isNew {
		var l *Log
		if l, err = openLog(dir, path); err == nil {
			return l, nil
		}
		if isNew {
			_ = os.Remove(path) // only a part of it may be there
		}
	}
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("grid: data directory %s is used by another process: stop it or choose another DataDir "+
			"(--data-dir): %w",
			dir, err)
	case errors.Is(err, boltfile.ErrDamaged):
		return nil, damaged(dir, File, err)
	case errors.Is(err, syscall.ENOSPC):
		return nil, fmt.Errorf("grid: cannot open %s in data directory %s: %w; free space, or choose another "+
			"DataDir (--data-dir)", File, dir, err)
	}
	return nil, fmt.Errorf("grid: cannot open %s in data directory %s: %w; let this process's user read and write it, "+
		"or choose another DataDir (--data-dir)",
		File, dir, err)
}

// checkPages checks a file's pages before bbolt reads them. It holds the file's lock, so that no other
// process writes.
func checkPages(path string) error {
	options := boltfile.Options()
	options.ReadOnly = true // reads the descriptions alone
	_, db, err := openBolt(path, options)
	if err != nil {
		if _, system := errors.AsType[*fs.PathError](err); system || errors.Is(err, bolterrors.ErrTimeout) {
			return err
		}
		return boltfile.Damaged("its descriptions cannot be read: %v", err)
	}
	return errors.Join(boltfile.Check(path), db.Close())
}

func openLog(dir, path string) (*Log, error) {
	file, db, err := openBolt(path, boltfile.Options())
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	if err != nil {
		discard(file)
		return nil, err
	}
	l := &Log{Dir: dir, db: db, broken: make(chan struct{})}
	l.write = func(_ string, change func(*bolt.Tx) error) error {
		return boltfile.UpdateInPlace(db, path, opened, change)
	}
	if err := errors.Join(l.prepare(), durable.SyncDir(dir)); err != nil {
		discard(file) // db may not be able to close itself
		return nil, err
	}
	return l, nil
}

// openBolt opens a database, and returns its file too, which is closed if that fails.
func openBolt(path string, options *bolt.Options) (file *os.File, db *bolt.DB, err error) {
	options.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		file, err = os.OpenFile(name, flag, mode)
		return file, err
	}
	err = boltfile.Guard(func() (err error) {
		db, err = bolt.Open(path, 0o600, options)
		return err
	})
	if err != nil && file != nil {
		discard(file)
	}
	return file, db, err
}

func discard(f *os.File) {
	durable.Unlock(f)
	_ = f.Close()
}

// madeByBolt is the transaction of a file that bbolt has made, before the first one of its user.
const madeByBolt = 1

func (l *Log) prepare() error {
	isNew := false
	err := boltfile.Guard(func() error {
		return l.db.View(func(tx *bolt.Tx) (err error) {
			if isNew = tx.ID() <= madeByBolt && tx.Bucket(raftAbout) == nil; isNew {
				return nil
			}
			l.ID, err = verify(tx)
			return err
		})
	})
	if err != nil || !isNew {
		return err
	}
	l.ID = NewID()
	return l.write("", func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		e := editor{tx: tx}
		if err := e.put(raftAbout, raftLogID, withChecksum(raftLogID, []byte(l.ID))); err != nil {
			return err
		}
		return tx.Bucket(raftAbout).Put(raftSeal, e.seal.encode())
	})
}
