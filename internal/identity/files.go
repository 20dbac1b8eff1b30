package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The files of a data directory.
const (
	NumberFile      = ".member.meta"      // the number; also a member's identity, which has its number
	ApplicationFile = ".member.meta.temp" // the application
	NodesFile       = ".member.nodes"     // the logical nodes: see [Nodes]
	lockFile        = ".lock"             // locked while a client uses the directory
)

// Format is the format of NumberFile and ApplicationFile. It grows when an earlier release must not
// read them; a field that an earlier release may ignore is just added.
const Format = 1

// maxFile bounds a file that is read.
const maxFile = 1 << 20

// Content is a file's content. Its JSON has the field "format".
type Content interface {
	Check() error // refuses content that no release has written
}

// numberFile is the content of a client's NumberFile.
type numberFile struct {
	Format int    `json:"format"`
	Member string `json:"member,omitempty"` // in a member's file, which does not belong to a client
	Number Number `json:"number"`
}

func (f *numberFile) Check() error {
	if f.Member != "" {
		return nil
	}
	return f.Number.Check()
}

type applicationFile struct {
	Format      int    `json:"format"`
	Application Number `json:"application"`
}

func (f *applicationFile) Check() error { return f.Application.Check() }

// Decode decodes a file. Its checksum covers every field, so an unknown field comes from a later
// release and is ignored. The error is a *wire.FormatError if this release does not support the format.
func Decode(data []byte, content Content) error {
	inner, err := durable.Unseal(data)
	if err != nil {
		return err
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(inner, &head); err != nil {
		return err
	}
	if err := wire.CheckFormat(head.Format, Format); err != nil {
		return err
	}
	if err := json.Unmarshal(inner, content); err != nil {
		return err
	}
	return content.Check()
}

// Load decodes the file at a path, and reports whether it exists. advice is the remedy for a damaged
// file, which is never a reason for another number.
//
// Errors: sequencer.ErrInvalidConfig.
func Load(path string, content Content, advice string) (exists bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, invalid("%v", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return false, invalid("%v", err)
	}
	if len(data) > maxFile {
		return false, invalid("%s has more than %d bytes", path, maxFile)
	}
	var later *wire.FormatError
	switch err := Decode(data, content); {
	case errors.As(err, &later):
		return false, invalid("%s: %v", path, err)
	case err != nil:
		return false, invalid("%s is damaged: %v; %s", path, err, advice)
	}
	return true, nil
}

// Dir is a process's data directory. It implements [Store] for a client.
type Dir string

// OpenDir creates a client's data directory if there is none, and locks it until the lock is closed.
//
// Errors: sequencer.ErrInvalidConfig, also if another process uses the directory.
func OpenDir(path string) (dir Dir, lock io.Closer, err error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", nil, invalid("cannot create %s: %v", path, err)
	}
	if err := Restrict(path, []string{NumberFile, ApplicationFile, lockFile, NodesFile}); err != nil {
		return "", nil, invalid("%v", err)
	}
	file, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", nil, invalid("%v", err)
	}
	taken, err := durable.TryLock(file)
	if err == nil && !taken {
		err = errors.New("another process uses it; end that one, or give this one a directory of its own")
	}
	if err != nil {
		return "", nil, errors.Join(invalid("%s: %v", path, err), file.Close())
	}
	return Dir(path), dirLock{file}, nil
}

// dirLock is the lock of a data directory. A child process may have inherited it, so closing the file is not enough.
type dirLock struct{ *os.File }

func (l dirLock) Close() error {
	durable.Unlock(l.File)
	return l.File.Close()
}

// Read returns the number and the application of a client's directory.
//
// Errors: sequencer.ErrInvalidConfig for a file that cannot be read.
func (d Dir) Read() (files Files, err error) {
	path := filepath.Join(string(d), NumberFile)
	var f numberFile
	exists, err := Load(path, &f, "restore it, or start with an empty directory as a new process")
	if err == nil && f.Member != "" {
		err = invalid("%s belongs to member %.64s of a grid; give the client a directory of its own", path, f.Member)
	}
	if err != nil {
		return files, err
	}
	if exists {
		files.Number = &f.Number
	}
	files.Application, err = d.ReadApplication()
	return files, err
}

// ReadApplication returns the stored application, nil for none.
//
// Errors: sequencer.ErrInvalidConfig if the file cannot be read.
func (d Dir) ReadApplication() (*Number, error) {
	path := filepath.Join(string(d), ApplicationFile)
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return nil, nil // a crash before the first write
	}
	var f applicationFile
	exists, err := Load(path, &f,
		"restore it, or remove it: the number that it may name is not given to another process then")
	if err != nil || !exists {
		return nil, err
	}
	return &f.Application, nil
}

// StoreApplication stores an application, on disk when it returns.
func (d Dir) StoreApplication(n Number) error {
	AtCrashPoint(BeforeApplication)
	err := d.store(ApplicationFile, applicationFile{Format, n}, nil)
	if err == nil {
		AtCrashPoint(AfterApplication)
	}
	return err
}

// StoreNumber stores a client's number, on disk when it returns.
func (d Dir) StoreNumber(n Number) error {
	return d.store(NumberFile, numberFile{Format: Format, Number: n}, func() { AtCrashPoint(BeforeRename) })
}

func (d Dir) store(file string, content any, written func()) error {
	data, err := durable.Seal(content)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(string(d), file), data, written)
}

// RemoveApplication removes the application.
func (d Dir) RemoveApplication() error {
	if err := os.Remove(filepath.Join(string(d), ApplicationFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.SyncDir(string(d))
}

// Restrict limits access to a data directory, and to the named files in it, to its owner: numbers
// have codes that are credentials. A directory with content other than files and parts, which are
// directory names, keeps its mode: it may belong to the system. A file or directory of another
// user, such as a container volume, or on a file system without modes, keeps its mode too.
func Restrict(dir string, files []string, parts ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	foreign := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !slices.Contains(files, e.Name()) && !slices.Contains(parts, e.Name())
	})
	if !foreign {
		err = restrict(dir, 0o700, fs.ModeDir)
	}
	for _, file := range files {
		err = errors.Join(err, restrict(filepath.Join(dir, file), 0o600, 0))
	}
	return err
}

// restrict drops a file's mode bits beyond a limit, if the file has this type.
func restrict(path string, limit, kind fs.FileMode) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (info.Mode().Perm()&^limit == 0 || info.Mode().Type() != kind) {
		return nil
	}
	if err == nil {
		err = os.Chmod(path, info.Mode().Perm()&limit)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// invalid returns an error about the data directory.
func invalid(format string, args ...any) error {
	return failure.Errorf(sequencer.ErrInvalidConfig, "DataDir: %s", fmt.Sprintf(format, args...))
}
