package formation

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusedDataDirStatesRemedy: a directory that cannot be created, and one whose log cannot be opened, end with
// the remedy.
func TestRefusedDataDirStatesRemedy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "none", "raft.db"), filepath.Join(dir, "raft.db")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(file, "x"): "create it for this process's user, or choose another",
		dir:                      "let this process's user read and write it, or choose another DataDir",
	} {
		if _, _, _, err := OpenDataDir(path, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, without %q", path, err, want)
		}
	}
}
