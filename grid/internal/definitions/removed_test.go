//go:build unix

package definitions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid/internal/definitions"
)

// TestRemovedFileIsAFailedDisk: a write into a file that was removed or replaced would be lost, so it
// fails, and no write follows it.
func TestRemovedFileIsAFailedDisk(t *testing.T) {
	for what, remove := range map[string]func(path string) error{
		"the directory": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"the file":      os.Remove,
		"replaced": func(path string) error {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path+".old", content, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".old", path)
		},
	} {
		t.Run(what, func(t *testing.T) {
			s, dir := newStore(t)
			if _, err := s.Commit(aGrid, []definitions.Write{whole(1, at(1, 1), record(t, "orders", 1))}); err != nil {
				t.Fatal(err)
			}
			if err := remove(filepath.Join(dir, definitions.File)); err != nil {
				t.Fatal(err)
			}
			write := []definitions.Write{whole(1, at(1, 2), record(t, "invoices", 1))}
			_, err := s.Commit(aGrid, write)
			if err == nil || !strings.Contains(err.Error(), "definitions.db was removed or replaced while this member ran") {
				t.Errorf("the error is %v", err)
			}
			if _, err := s.Commit(aGrid, write); err == nil {
				t.Error("the store writes on")
			}
		})
	}
}
