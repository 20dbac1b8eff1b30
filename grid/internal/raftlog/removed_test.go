//go:build unix

package raftlog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
)

// TestRemovedLogIsAFailedDisk: a write into a file that was removed, moved or replaced would be lost, so it fails,
// and no write follows it.
func TestRemovedLogIsAFailedDisk(t *testing.T) {
	for what, remove := range map[string]func(path string) error{
		"the directory": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"the file":      os.Remove,
		"moved":         func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+".old") },
		"replaced": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, nil, 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			l := openLog(t, filepath.Join(t.TempDir(), "data")).(*raftlog.Log)
			if err := l.StoreLogs(entries(1, 3)); err != nil {
				t.Fatal(err)
			}
			if err := remove(filepath.Join(l.Dir, raftlog.File)); err != nil {
				t.Fatal(err)
			}
			err := l.StoreLog(entry(4))
			if err == nil || !strings.Contains(err.Error(), "raft.db was removed or replaced while this member ran") {
				t.Errorf("the error is %v", err)
			}
			if l.Failure() == nil {
				t.Error("the log writes on")
			}
		})
	}
}
