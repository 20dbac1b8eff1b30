package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestDirectoryThatIsNoLongerAtItsPath: a directory that was moved or removed while it is open is an error of every
// operation, and no store without records. It is usable again once it is back.
func TestDirectoryThatIsNoLongerAtItsPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ids")
	f := openFile(t, dir)
	e := Entry{Key: "orders/0.json", Body: []byte("{}")}
	var err error
	if e.Revision, err = f.Swap(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	refused := func(when string) {
		t.Helper()
		_, loaded := f.Load(t.Context(), e.Key)
		_, swapped := f.Swap(t.Context(), e)
		_, listed := f.List(t.Context(), "orders/")
		for _, err := range []error{loaded, swapped, listed} {
			if err == nil || errors.Is(err, ErrNoRecord) || !strings.Contains(err.Error(), "removed or replaced") {
				t.Errorf("%s: %v", when, err)
			}
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Rename(dir, dir+"-away"))
	refused("moved away")
	check(os.Mkdir(dir, 0o700))
	refused("another one at its path")
	check(os.Remove(dir))
	check(os.Rename(dir+"-away", dir))
	if have, err := f.Load(t.Context(), e.Key); err != nil || have.Revision != e.Revision {
		t.Errorf("put back: %+v, %v", have, err)
	}
	check(os.RemoveAll(dir))
	refused("removed")
}
