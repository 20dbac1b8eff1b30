package registrar

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

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
