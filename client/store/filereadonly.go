package store

import (
	"os"
	"path/filepath"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

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
