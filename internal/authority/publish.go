package authority

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/security"
)

// File permissions. Only the user that created private files can read them.
const (
	directoryMode = 0o700
	secretMode    = 0o600
	publicMode    = 0o644
)

// isSecret reports whether a file in a directory is private: a private key, or the gossip keys.
func isSecret(name string) bool {
	return strings.HasSuffix(name, keySuffix) || name == earlierKeyFile || name == security.GossipKeysFile
}

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
		if err := f.write(filepath.Join(beside, f.name)); err != nil {
			return err
		}
	}
	if err := durable.SyncDir(beside); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the empty directory %s cannot be replaced: %w; give a directory that does not exist, such "+
			"as %s", security.ErrInvalid, dir, err, filepath.Join(dir, "security"))
	}
	return durable.Rename(beside, dir)
}

// checkFree refuses a path with anything in it.
func checkFree(dir string) error {
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w; give a directory that does not exist", security.ErrInvalid, err)
	case len(entries) > 0:
		return fmt.Errorf("%w: %s has files, such as %s, and nothing is overwritten; give a directory that does not exist, "+
			"or move this one away", security.ErrInvalid, dir, entries[0].Name())
	}
	return nil
}

func (f file) write(path string) error {
	if isSecret(f.name) {
		return durable.Write(path, f.content, secretMode)
	}
	return durable.Write(path, f.content, publicMode)
}

// replace replaces the file in an existing directory. A reader sees either the earlier content or the
// complete new content.
func (f file) replace(dir string) error {
	temporary := filepath.Join(dir, "."+f.name+".new")
	if err := f.write(temporary); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return durable.Rename(temporary, filepath.Join(dir, f.name))
}
