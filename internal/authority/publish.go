package authority

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/snowgrid/snowgrid/security"
)

// File permissions. Only the user that created private files can read them.
const (
	directoryMode = 0o700
	secretMode    = 0o600
	publicMode    = 0o644
)

// IsSecret reports whether a file in a directory is private: a private key, or the gossip keys.
func IsSecret(name string) bool {
	return strings.HasSuffix(name, keySuffix) || name == earlierKeyFile || name == security.GossipKeysFile
}

// file is one file in a directory.
type file struct {
	name    string
	content []byte
}

// publish writes a new directory with the files: all or none. An existing directory must be empty.
func publish(dir string, files []file) (err error) {
	dir = filepath.Clean(dir)
	if err := checkFree(dir); err != nil {
		return err
	}
	beside, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".new-")
	if err != nil {
		return fmt.Errorf("%w: %s cannot be made: %w; give a directory whose parent exists and can be written",
			security.ErrInvalid, dir, err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(beside)
		}
	}()
	for _, f := range files {
		if err := write(filepath.Join(beside, f.name), f); err != nil {
			return err
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the empty directory %s cannot be replaced: %w; give a directory that does not exist, such as %s", security.ErrInvalid, dir, err, filepath.Join(dir, "security"))
	}
	return os.Rename(beside, dir)
}

// checkFree refuses a path with anything in it.
func checkFree(dir string) error {
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w; give a directory that does not exist", security.ErrInvalid, err)
	case len(entries) > 0:
		return fmt.Errorf("%w: %s has files, such as %s, and nothing is overwritten; give a directory that does not exist, or move this one away", security.ErrInvalid, dir, entries[0].Name())
	}
	return nil
}

// write writes one file and its content to the disk.
func write(path string, f file) (err error) {
	mode := os.FileMode(publicMode)
	if IsSecret(f.name) {
		mode = secretMode
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = out.Write(f.content)
	return errors.Join(err, out.Sync(), out.Close())
}

// replace replaces a file in an existing directory. A reader sees either the earlier content or the
// complete new content.
func replace(dir string, f file) error {
	path := filepath.Join(dir, f.name)
	temporary := filepath.Join(dir, "."+f.name+".new")
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := write(temporary, f); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return os.Rename(temporary, path)
}
