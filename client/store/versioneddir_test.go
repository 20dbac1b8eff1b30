package store

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/sequencer"
)

// tree returns the files below a directory with their contents, but for markers.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return nil
		case entry.Name() == versionMarker:
			found[rel] = ""
			return nil
		}
		text, err := os.ReadFile(name)
		found[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func versioned(t *testing.T, root string, version uint64, keep int) string {
	t.Helper()
	dir, err := VersionedDir(root, 3, version, keep)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o770); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func TestVersionedDirCopiesTheNewest(t *testing.T) {
	root := t.TempDir()
	first := versioned(t, root, 1, 3)
	if want := filepath.Join(root, "node-3", "v1"); first != want || len(tree(t, first)) != 1 {
		t.Fatalf("the first directory is %q with %v, not an empty %q", first, tree(t, first), want)
	}
	writeFile(t, filepath.Join(first, "data"), "one")
	writeFile(t, filepath.Join(first, "raft", "log"), "entries")
	if err := os.Symlink("data", filepath.Join(first, "link")); err != nil {
		t.Fatal(err)
	}
	second := versioned(t, root, 5, 3) // Versions are skipped when other machines held the node.
	if have := tree(t, second); len(have) != 4 || have["data"] != "one" || have["raft/log"] != "entries" ||
		have["link"] != "one" {
		t.Errorf("version 5 has %v", have)
	}
	if info, err := os.Stat(filepath.Join(second, "data")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the permissions of a copy: %v, %v", info.Mode(), err)
	}
	writeFile(t, filepath.Join(second, "data"), "five")
	writeFile(t, filepath.Join(first, "data"), "late") // by the former holder
	if again := versioned(t, root, 5, 3); again != second || tree(t, again)["data"] != "five" {
		t.Errorf("version 5 again is %q with %v", again, tree(t, again))
	}
	if third := versioned(t, root, 6, 3); tree(t, third)["data"] != "five" {
		t.Errorf("version 6 is not a copy of version 5: %v", tree(t, third))
	}
	if other, err := VersionedDir(root, 4, 1, 1); err != nil || len(tree(t, other)) != 1 {
		t.Errorf("another node's directory: %v, %v", tree(t, other), err)
	}
}

// TestVersionedDirIncomplete: directories whose marker is missing or torn are removed, and
// not copied.
func TestVersionedDirIncomplete(t *testing.T) {
	root := t.TempDir()
	writeFile(t, filepath.Join(versioned(t, root, 1, 9), "data"), "one")
	node := filepath.Join(root, "node-3")
	writeFile(t, filepath.Join(node, "v2", "data"), "half")
	writeFile(t, filepath.Join(node, "v3", "data"), "half")
	writeFile(t, filepath.Join(node, "v3", versionMarker), `{"initializedAt":`)
	writeFile(t, filepath.Join(node, "v4", "data"), "half") // the version itself
	writeFile(t, filepath.Join(node, "v04", "data"), "foreign")
	writeFile(t, filepath.Join(node, "notes"), "foreign")
	dir := versioned(t, root, 4, 9)
	if have := tree(t, dir); len(have) != 2 || have["data"] != "one" {
		t.Errorf("version 4 has %v", have)
	}
	have := tree(t, node)
	for _, gone := range []string{"v2/data", "v3/data"} {
		if _, is := have[gone]; is {
			t.Errorf("%s is left", gone)
		}
	}
	for _, kept := range []string{"v04/data", "notes", "v1/data"} {
		if _, is := have[kept]; !is {
			t.Errorf("%s was removed", kept)
		}
	}
}

func TestVersionedDirKeeps(t *testing.T) {
	root := t.TempDir()
	for v := uint64(1); v <= 12; v++ {
		versioned(t, root, v, 2)
	}
	entries, err := os.ReadDir(filepath.Join(root, "node-3"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"v11", "v12"}; !slices.Equal(names, want) {
		t.Errorf("versions on the disk: %q, not %q", names, want)
	}
}

func TestVersionedDirRefuses(t *testing.T) {
	root := t.TempDir()
	versioned(t, root, 7, 2)
	writeFile(t, filepath.Join(root, "node-5", "v9", "data"), "half")
	for _, tt := range []struct {
		root    string
		node    sequencer.NodeID
		version uint64
		keep    int
		want    error
		named   string
	}{
		{root, 3, 6, 2, sequencer.ErrConflict, "version 7 exists"},
		{root, 5, 8, 2, sequencer.ErrConflict, "version 9 exists"},
		{root, 3, 0, 2, sequencer.ErrInvalidConfig, "versions begin with 1"},
		{root, 3, 8, 0, sequencer.ErrInvalidConfig, "keep 1 or more"},
		{"", 3, 8, 2, sequencer.ErrInvalidConfig, "the path is empty"},
	} {
		_, err := VersionedDir(tt.root, tt.node, tt.version, tt.keep)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.named) {
			t.Errorf("version %d of node %d, keeping %d: %v", tt.version, tt.node, tt.keep, err)
		}
	}
	if have := tree(t, filepath.Join(root, "node-5")); have["v9/data"] != "half" {
		t.Errorf("a refusal removed files: %v", have)
	}
}

// TestVersionedDirInterrupted: a copy that fails half way is made again from the start.
func TestVersionedDirInterrupted(t *testing.T) {
	root := t.TempDir()
	first := versioned(t, root, 1, 2)
	writeFile(t, filepath.Join(first, "a"), "one")
	socket, err := net.Listen("unix", filepath.Join(first, "z"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(first, "c"), "three")
	if _, err := VersionedDir(root, 3, 2, 2); err == nil || !strings.Contains(err.Error(), "v1/z is neither") {
		t.Fatalf("with a socket in the directory: %v", err)
	}
	if have := tree(t, filepath.Join(root, "node-3", "v2")); len(have) != 2 || have["a"] != "one" {
		t.Errorf("the interrupted copy has %v", have)
	}
	writeFile(t, filepath.Join(first, "a"), "newer")
	_ = socket.Close() // It removes the file.
	if have := tree(t, versioned(t, root, 2, 2)); len(have) != 3 || have["a"] != "newer" || have["c"] != "three" {
		t.Errorf("the second attempt has %v", have)
	}
}
