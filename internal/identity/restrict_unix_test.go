//go:build unix

package identity

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRestrictLeavesOtherFiles: only a data directory and the files in it get other modes.
func TestRestrictLeavesOtherFiles(t *testing.T) {
	files := []string{NumberFile, lockFile}
	for name, test := range map[string]struct {
		entry    string
		wantDir  os.FileMode
		wantFile os.FileMode
	}{
		"a data directory":                {NumberFile, 0o700, 0o600},
		"its lock":                        {lockFile, 0o700, 0o600},
		"a directory with other contents": {"passwd", 0o755, 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, test.entry)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for path, mode := range map[string]os.FileMode{dir: 0o755, path: 0o644} {
				if err := os.Chmod(path, mode); err != nil { //nolint:gosec // wider than it should be
					t.Fatal(err)
				}
			}
			if err := Restrict(dir, files); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]os.FileMode{dir: test.wantDir, path: test.wantFile} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s has mode %v, %v, want %v", path, info.Mode().Perm(), err, want)
				}
			}
		})
	}
}

// TestLockEndsBesideAChild: a child process that was started meanwhile has the lock's file, too, until it runs its
// program. The lock ends all the same when it is closed.
func TestLockEndsBesideAChild(t *testing.T) {
	path := t.TempDir()
	_, lock, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(lock.(interface{ Fd() uintptr }).Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(inherited) }()
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	_, again, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}
