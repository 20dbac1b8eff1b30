package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestFileReadOnly: a store that was opened to read answers as the other one does, and the directory stays as it was.
func TestFileReadOnly(t *testing.T) {
	dir := t.TempDir()
	written := openFile(t, dir)
	for _, key := range []string{"orders/0.json", "orders/1.json"} {
		if _, err := written.Swap(t.Context(), Entry{Key: key, Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	for _, own := range []string{locksDir, tempDir} { // a start to write would make them
		if err := os.RemoveAll(filepath.Join(dir, own)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenFileReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	all, err := s.List(t.Context(), "orders/")
	if err != nil || len(all) != 2 {
		t.Fatalf("listed %+v, %v", all, err)
	}
	if e, err := s.Load(t.Context(), all[1].Key); err != nil || e.Revision != all[1].Revision {
		t.Errorf("loaded %+v, %v", e, err)
	}
	for _, revision := range []Revision{"", all[0].Revision} {
		_, err := s.Swap(t.Context(), Entry{Key: all[0].Key, Body: []byte("[]"), Revision: revision})
		if !errors.Is(err, sequencer.ErrInvalidConfig) {
			t.Errorf("a write: %v", err)
		}
	}
	var names []string
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if want := []string{".", "orders", "orders/0.json", "orders/1.json"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the directory has %q, want %q; %v", names, want, err)
	}
	absent := filepath.Join(dir, "absent")
	if _, err := OpenFileReadOnly(absent); !errors.Is(err, sequencer.ErrInvalidConfig) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}
