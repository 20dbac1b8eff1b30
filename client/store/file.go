package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// File is a store in a directory: for development, and for services on one machine.
// Any number of processes may use one directory at the same time, on a local file
// system. Each key is a file of the same path, below the directory:
//
//	ids/orders/sequencer.json
//	ids/orders/0.json
//
// A write is on the disk when Swap returns, and a process that is killed in the middle leaves
// either the old file or the new one. Writers of a key exclude each other with flock, which the
// kernel releases when a process ends. A file that was changed by anything but a File has a digest
// that does not match, and no reader accepts it as a record.
//
// A copy of the directory is another store. Two of them issue equal IDs, as do a
// directory and its older backup.
//
// [OpenFile] and [OpenFileReadOnly] return one; the methods of the zero value panic.
type File struct {
	name string // the directory as given
	root *os.Root
	// sync makes the names in an open directory durable. Tests replace it.
	sync     func(dir *os.File) error
	readOnly bool

	made sync.Map // directories whose own names are durable

	mu     sync.Mutex
	failed error // set once a write may or may not be durable: then nothing is answered
}

// Paths in a File that are no keys: the names of keys do not begin with a dot.
const (
	locksDir = ".locks"
	tempDir  = ".temp"
)

// OpenFile opens the store in a directory, and makes the directory if it is missing.
// Relative paths count from the current directory at the time of the call. Errors:
// [sequencer.ErrInvalidConfig] if the directory cannot be written, or if its files
// cannot be locked on this operating system or file system.
func OpenFile(dir string) (*File, error) {
	if dir == "" {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"store: open a directory: the path is empty; name a directory on a local disk")
	}
	root, err := openRoot(dir)
	if err != nil {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"store: open directory %q: %w; name a directory that this process can write", dir, err)
	}
	f := &File{name: dir, root: root, sync: (*os.File).Sync}
	if err := f.prepare(); err != nil {
		_ = root.Close() // The error before counts.
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"store: open directory %q: %w; name a directory on a local disk that this process can write", dir, err)
	}
	return f, nil
}

// String names the store in messages, by its directory as it was given.
func (f *File) String() string { return "file:" + f.name }

// openRoot makes a directory, durably, and opens it.
func openRoot(dir string) (*os.Root, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	existing := dir
	for _, err := os.Stat(existing); errors.Is(err, fs.ErrNotExist); _, err = os.Stat(existing) {
		existing = filepath.Dir(existing)
	}
	if err := os.MkdirAll(dir, 0o770); err != nil {
		return nil, err
	}
	for made := dir; made != existing; {
		made = filepath.Dir(made)
		if err := durable.SyncDir(made); err != nil {
			return nil, err
		}
	}
	return os.OpenRoot(dir)
}

// prepare makes the directories that are no keys, tries a write and a lock, and removes
// the temporary files of processes that were killed.
func (f *File) prepare() error {
	for _, dir := range []string{locksDir, tempDir} {
		if err := f.root.MkdirAll(dir, 0o770); err != nil {
			return err
		}
	}
	left, err := fs.ReadDir(f.root.FS(), tempDir)
	if err != nil {
		return err
	}
	stripes := []string{stripeOf("")}
	for _, entry := range left {
		stripes = append(stripes, entry.Name())
	}
	for _, stripe := range stripes {
		lock, err := f.tryLock(stripe)
		if err != nil {
			return err
		}
		if lock == nil {
			continue // The temporary file is in use, and the lock works.
		}
		err = f.writeTemp(stripe, []byte("a trial\n"))
		err = errors.Join(err, f.root.Remove(path.Join(tempDir, stripe)))
		lock.release()
		if err != nil {
			return err
		}
	}
	return f.persist(".")
}

// Close releases the directory. Handles of the store fail afterwards.
func (f *File) Close() error { return f.root.Close() }

// Load implements [Store]. The returned entry is durable.
func (f *File) Load(ctx context.Context, key string) (Entry, error) {
	if key == "" || len(key) > keyMax {
		return Entry{}, failure.Errorf(sequencer.ErrInvalidConfig, "store: load %.100q: a key of %d bytes; keys have 1 to %d",
			key, len(key), keyMax)
	}
	name := fileOf(key)
	var e Entry
	err := f.state(ctx)
	if err == nil {
		e, err = f.read(key, name)
	}
	if err == nil { // the writer of this state may have been killed before it made the name durable
		err = f.persist(path.Dir(name))
	}
	if err != nil {
		return Entry{}, f.failedAt("load", key, err)
	}
	return e, nil
}

// Swap implements [Store].
func (f *File) Swap(ctx context.Context, e Entry) (Revision, error) {
	if err := e.check(); err != nil {
		return "", err
	}
	if f.readOnly {
		return "", failure.Errorf(sequencer.ErrInvalidConfig, "store: swap %q: %s was opened to read; use OpenFile", e.Key,
			f.name)
	}
	if err := f.state(ctx); err != nil {
		return "", f.failedAt("swap", e.Key, err)
	}
	name := fileOf(e.Key)
	stripe := stripeOf(name)
	lock, err := f.lock(ctx, stripe)
	if err != nil {
		return "", f.failedAt("lock", e.Key, err)
	}
	defer lock.release()
	have, err := f.read(e.Key, name)
	if err != nil && !errors.Is(err, ErrNoRecord) {
		return "", f.failedAt("swap", e.Key, err)
	}
	if have.Revision != e.Revision {
		return "", fmt.Errorf("store: swap %q: at revision %q, not %q: %w", e.Key, have.Revision, e.Revision, ErrChanged)
	}
	text, revision, err := encodeFile(e)
	if err == nil {
		err = f.replace(stripe, name, text)
	}
	if err != nil {
		return "", f.failedAt("swap", e.Key, err)
	}
	return revision, nil
}

// List implements [Store].
func (f *File) List(ctx context.Context, prefix string) ([]Entry, error) {
	if err := f.state(ctx); err != nil {
		return nil, f.failedAt("list", prefix, err)
	}
	var found []Entry
	under := "." // the directory below which all keys with the prefix are
	if dir, _ := path.Split(prefix); dir != "" {
		under = fileOf(strings.TrimSuffix(dir, "/"))
	}
	err := fs.WalkDir(f.root.FS(), under, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case isAbsent(err) || errors.Is(err, fs.ErrInvalid):
			return nil // Removed since, or no directory of keys.
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir() && (name == locksDir || name == tempDir):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		key, ok := keyOf(name)
		if !ok || !strings.HasPrefix(key, prefix) {
			return nil
		}
		e, err := f.read(key, name)
		if err == nil {
			found = append(found, e)
		} else if !errors.Is(err, ErrNoRecord) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, f.failedAt("list", prefix, err)
	}
	slices.SortFunc(found, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return found, nil
}

// failedAt returns the error for a failed operation on a key. It names the directory, to which the paths in
// system errors are relative.
func (f *File) failedAt(op, key string, err error) error {
	if errors.Is(err, ErrNoRecord) {
		return fmt.Errorf("store: %s %q: %w", op, key, err)
	}
	return fmt.Errorf("store: %s %q in %s: %w", op, key, f.root.Name(), err)
}

// state returns the reason for which nothing can be answered, nil if there is none.
func (f *File) state(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := f.replaced(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// replaced returns an error if the open directory is no longer the one at its path: then a key that is missing is no
// proof that it was deleted, and other processes may have another store at the path.
func (f *File) replaced() error {
	open, err := f.root.Stat(".")
	if err != nil {
		return err
	}
	present, err := os.Stat(f.root.Name())
	if isAbsent(err) || err == nil && !os.SameFile(open, present) {
		return errors.New("the directory was removed or replaced since this process opened it; put it back, or restart " +
			"this process")
	}
	return nil
}

// read reads a key's file. Errors: ErrNoRecord.
func (f *File) read(key, name string) (Entry, error) {
	file, err := f.root.Open(name)
	if isAbsent(err) {
		return Entry{}, ErrNoRecord
	}
	if err != nil {
		return Entry{}, err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return Entry{}, failure.Errorf(sequencer.ErrInvalidConfig,
			"other keys begin with this one and a slash; choose a key that is not a directory of others")
	}
	text, err := io.ReadAll(io.LimitReader(file, fileMax+1))
	if err != nil {
		return Entry{}, err
	}
	e := decodeFile(text)
	e.Key = key
	return e, nil
}

// isAbsent reports whether an error means that the file does not exist.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// replace writes a file, durably. The caller has the lock of the stripe.
func (f *File) replace(stripe, name string, text []byte) error {
	dir := path.Dir(name)
	if err := f.makeDir(dir); err != nil {
		return err
	}
	if err := f.writeTemp(stripe, text); err != nil {
		return err
	}
	if err := f.root.Rename(path.Join(tempDir, stripe), name); err != nil {
		f.made.Delete(dir) // It may have been removed.
		return err
	}
	return f.persist(dir)
}

// writeTemp writes a stripe's temporary file to the disk.
func (f *File) writeTemp(stripe string, text []byte) error {
	file, err := f.root.OpenFile(path.Join(tempDir, stripe), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o660)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, durable.Sync(file))
}

// makeDir makes a directory for keys, durably.
func (f *File) makeDir(dir string) error {
	if _, made := f.made.Load(dir); made || dir == "." {
		return nil
	}
	err := f.root.MkdirAll(dir, 0o770)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
		return failure.Errorf(sequencer.ErrInvalidConfig, "this key begins with another one and a slash: %w; choose a key "+
			"that is not below another, and thus another name for the sequencer", err)
	}
	if err != nil {
		return err
	}
	for d := dir; d != "."; d = path.Dir(d) {
		if err := f.persist(path.Dir(d)); err != nil {
			return err
		}
	}
	f.made.Store(dir, true)
	return nil
}

// persist makes the names in a directory durable. If that fails the store answers
// nothing afterwards: the next attempt of the operating system would report success
// without having written anything.
func (f *File) persist(dir string) error {
	d, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // Nothing was written.
	if err = f.sync(d); err == nil {
		return nil
	}
	err = fmt.Errorf("directory %q: a write may be lost if the machine fails: %w; check the disk, and restart the process",
		dir, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
	}
	return err
}

// OpenFileReadOnly opens the store in an existing directory and writes nothing there: for tools that show it, also
// where the disk is full or may only be read. Swap fails, and what Load returns may be lost if the machine fails.
// Errors: [sequencer.ErrInvalidConfig] if the directory cannot be read.
func OpenFileReadOnly(dir string) (*File, error) {
	path, err := filepath.Abs(dir)
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(path)
	}
	if err != nil {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"store: open directory %q to read: %w; name a directory that this process can read", dir, err)
	}
	return &File{name: dir, root: root, sync: func(*os.File) error { return nil }, readOnly: true}, nil
}
