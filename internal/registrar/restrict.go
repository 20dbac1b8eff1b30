package registrar

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Restrict takes the access to a data directory, and to those of its files that are there, from all
// users but its owner: numbers have codes that are credentials. A directory that has other content
// than files and parts, the names of its directories, keeps its mode: it may be one of the system. So
// does what another user owns, such as a volume of a container, or is on a file system without modes.
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

// restrict drops the bits of the mode of a file of some type beyond a limit.
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
