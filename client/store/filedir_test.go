package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestNameOfANewDirectoryIsDurable: the first write of a sequencer makes directories, and the name
// of each is on the disk when it returns, as that of the file.
func TestNameOfANewDirectoryIsDurable(t *testing.T) {
	dir := t.TempDir()
	f := openFile(t, dir)
	var synced []string
	f.sync = func(d *os.File) error {
		rel, err := filepath.Rel(dir, d.Name())
		synced = append(synced, rel)
		if err != nil {
			return err
		}
		return d.Sync()
	}
	if _, err := f.Swap(t.Context(), Entry{Key: "ids/orders/0.json", Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	for _, parent := range []string{".", "ids", "ids/orders"} {
		if !slices.Contains(synced, parent) {
			t.Errorf("the names in %q may not be on the disk; synced were %q", parent, synced)
		}
	}
}
