//go:build unix

package grid_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestDataDirIsForItsOwnerAlone: it has the codes of numbers. A directory that existed with wider
// modes, and files that were restored with them, are narrowed at the start.
func TestDataDirIsForItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	widen := func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := os.FileMode(0o666)
		if entry.IsDir() {
			mode = 0o777
		}
		return os.Chmod(path, mode)
	}
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.New(t, gridtest.Config{Members: 1, Change: func(_ string, c *grid.Config) {
			c.DataDir, c.Identity.Set = dir, "servers"
		}})
		for range 2 {
			if err := filepath.WalkDir(dir, widen); err != nil {
				t.Fatal(err)
			}
			g.StartMembers("m1")
			cutLog(t, g.Member("m1"))
			files := 0
			err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := entry.Info()
				if files++; err == nil && info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s has mode %v", path, info.Mode())
				}
				return err
			})
			if err != nil || files < 7 {
				t.Errorf("%d files, %v", files, err)
			}
			g.Crash("m1")
		}
	})
}
