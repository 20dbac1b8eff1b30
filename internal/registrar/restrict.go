package registrar

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Restrict takes the access to a directory, and to some of its files that are there, from all
// users but its owner: numbers have codes that are credentials. What another user owns, such as
// a volume of a container, and a file system without modes, stay as they are.
func Restrict(dir string, files ...string) error {
	err := restrict(dir, 0o700)
	for _, file := range files {
		err = errors.Join(err, restrict(filepath.Join(dir, file), 0o600))
	}
	return err
}

// restrict drops the bits of a mode beyond a limit.
func restrict(path string, limit os.FileMode) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (info.Mode().Perm()&^limit == 0 || info.Mode()&fs.ModeSymlink != 0) {
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
