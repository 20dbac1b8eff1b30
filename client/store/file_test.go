package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

func openFile(t *testing.T, dir string) *File {
	t.Helper()
	f, err := OpenFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestFileKeepsEntries(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "new", "ids")
	first, err := openFile(t, dir).Swap(ctx, Entry{Key: "orders/0.json", Body: []byte("{\n}"),
		Meta: map[string]string{"version": "7"}})
	if err != nil {
		t.Fatal(err)
	}
	f := openFile(t, dir)
	e, err := f.Load(ctx, "orders/0.json")
	if err != nil || string(e.Body) != "{\n}" || e.Revision != first || e.Meta["version"] != "7" ||
		e.Key != "orders/0.json" {
		t.Fatalf("loaded %+v, %v", e, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "orders", "0.json")); err != nil {
		t.Errorf("a key is not the path of its file: %v", err)
	}
	second, err := f.Swap(ctx, e)
	if err != nil || second == first {
		t.Fatalf("the same body again is revision %q after %q, %v", second, first, err)
	}
	if _, err := f.Swap(ctx, e); !errors.Is(err, ErrChanged) {
		t.Errorf("a swap of an old revision: %v", err)
	}
}

// TestFileRefusesDirectories: of each directory that cannot be a store the error names
// the path and a remedy.
func TestFileRefusesDirectories(t *testing.T) {
	occupied := filepath.Join(t.TempDir(), "occupied")
	if err := os.WriteFile(occupied, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", occupied, filepath.Join(occupied, "below"), "/proc/self", "/dev/null/ids"} {
		_, err := OpenFile(dir)
		if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "name a directory") ||
			!strings.Contains(err.Error(), dir) {
			t.Errorf("OpenFile(%q): %v", dir, err)
		}
	}
}

// TestFileDamage: a file that was cut at any place, changed or emptied is neither its
// former self nor absent, and can be replaced.
func TestFileDamage(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	f := openFile(t, dir)
	body := []byte(`{"version":7}`)
	revision, err := f.Swap(ctx, Entry{Key: "k", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "k")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	texts := [][]byte{append(bytes.Clone(whole), '!'), bytes.Replace(whole, []byte("7"), []byte("8"), 1),
		bytes.Repeat([]byte("x"), fileMax+1)}
	for n := range whole {
		texts = append(texts, whole[:n])
	}
	for _, text := range texts {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := f.Load(ctx, "k")
		if err != nil || e.Revision == revision || !strings.HasPrefix(string(e.Body), "damaged file: ") {
			t.Fatalf("%d of %d bytes are read as %+v, %v", len(text), len(whole), e, err)
		}
		if _, err := f.Swap(ctx, Entry{Key: "k", Body: body, Revision: revision}); !errors.Is(err, ErrChanged) {
			t.Fatalf("a swap of the revision before the damage: %v", err)
		}
		if _, err := f.Swap(ctx, Entry{Key: "k", Body: body}); !errors.Is(err, ErrChanged) {
			t.Fatalf("a damaged file counts as absent: %v", err)
		}
	}
	e, err := f.Load(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Swap(ctx, Entry{Key: "k", Body: body, Revision: e.Revision}); err != nil {
		t.Errorf("a damaged file cannot be replaced: %v", err)
	}
}

func TestFileKeyIsNoDirectory(t *testing.T) {
	ctx := t.Context()
	f := openFile(t, t.TempDir())
	if _, err := f.Swap(ctx, Entry{Key: "a/b", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Swap(ctx, Entry{Key: "a", Body: []byte("x")}); err == nil {
		t.Error("a directory was replaced")
	}
	for _, key := range []string{"a/b/c", "a/b/c/d"} {
		if _, err := f.Swap(ctx, Entry{Key: key, Body: []byte("x")}); !errors.Is(err, sequencer.ErrInvalidConfig) {
			t.Errorf("%s below a key: %v", key, err)
		}
	}
	if _, err := f.Load(ctx, "a/b/c"); !errors.Is(err, ErrNoRecord) {
		t.Errorf("below a file: %v", err)
	}
	if found, err := f.List(ctx, "a/b/c/"); err != nil || len(found) > 0 {
		t.Errorf("a list below a file: %v, %v", found, err)
	}
}

func TestFileLimits(t *testing.T) {
	ctx := t.Context()
	f := openFile(t, t.TempDir())
	for _, e := range []Entry{
		{Key: "", Body: []byte("x")},
		{Key: strings.Repeat("k", keyMax+1), Body: []byte("x")},
		{Key: "k"},
		{Key: "k", Body: make([]byte, bodyMax+1)},
	} {
		if _, err := f.Swap(ctx, e); !errors.Is(err, sequencer.ErrInvalidConfig) {
			t.Errorf("a key of %d and a body of %d bytes: %v", len(e.Key), len(e.Body), err)
		}
	}
	if _, err := f.Swap(ctx, Entry{Key: "k", Body: []byte("x"),
		Meta: map[string]string{"m": strings.Repeat("x", fileMax)}}); err == nil {
		t.Error("an entry that cannot be read back was written")
	}
}

// TestFileLock: a writer waits for another one's lock until ctx ends, and neither
// readers nor writers of other keys do.
func TestFileLock(t *testing.T) {
	dir := t.TempDir()
	holder, f := openFile(t, dir), openFile(t, dir)
	lock, err := holder.tryLock(stripeOf("k"))
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Swap(ctx, Entry{Key: "k", Body: []byte("x")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a swap of a locked key: %v", err)
	}
	if _, err := f.Load(t.Context(), "k"); !errors.Is(err, ErrNoRecord) {
		t.Errorf("a locked key is not readable, or was written: %v", err)
	}
	if _, err := f.Swap(t.Context(), Entry{Key: "another", Body: []byte("x")}); err != nil {
		t.Errorf("another key is locked too: %v", err)
	}
	lock.release()
	if _, err := f.Swap(t.Context(), Entry{Key: "k", Body: []byte("x")}); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

func TestFileRemovesTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	holder := openFile(t, dir)
	for _, stripe := range []string{stripeOf("left"), stripeOf("k")} {
		if err := os.WriteFile(filepath.Join(dir, tempDir, stripe), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := holder.tryLock(stripeOf("k")) // as a writer that is still at work
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	f := openFile(t, dir)
	left, err := os.ReadDir(filepath.Join(dir, tempDir))
	if err != nil || len(left) != 1 || left[0].Name() != stripeOf("k") {
		t.Errorf("temporary files after opening: %v, %v", left, err)
	}
	lock.release()
	if found, err := f.List(t.Context(), ""); err != nil || len(found) > 0 {
		t.Errorf("keys of an empty store: %v, %v", found, err)
	}
}

// TestFileUnsureOfTheDisk: after a failed fsync of a directory a store answers nothing,
// since the next fsync would succeed without having written.
func TestFileUnsureOfTheDisk(t *testing.T) {
	ctx := t.Context()
	f := openFile(t, t.TempDir())
	broken := errors.New("input/output error")
	f.sync = func(*os.File) error { return broken }
	if _, err := f.Swap(ctx, Entry{Key: "k", Body: []byte("x")}); !errors.Is(err, broken) || errors.Is(err, ErrChanged) {
		t.Errorf("a write that may be lost: %v", err)
	}
	f.sync = (*os.File).Sync
	_, loadErr := f.Load(ctx, "k")
	_, swapErr := f.Swap(ctx, Entry{Key: "j", Body: []byte("x")})
	_, listErr := f.List(ctx, "")
	for _, err := range []error{loadErr, swapErr, listErr} {
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "check the disk") {
			t.Errorf("afterwards: %v", err)
		}
	}
}

// TestFileLoadIsDurable: the writer of a state may be gone before it was on disk.
func TestFileLoadIsDurable(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	if _, err := openFile(t, dir).Swap(ctx, Entry{Key: "orders/k", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	f := openFile(t, dir)
	var synced []string
	f.sync = func(d *os.File) error {
		synced = append(synced, path.Base(d.Name()))
		return d.Sync()
	}
	if _, err := f.Load(ctx, "orders/k"); err != nil || len(synced) != 1 || synced[0] != "orders" {
		t.Errorf("before an answer, directories on disk: %q, %v", synced, err)
	}
}

func TestFileRemovedDirectory(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	f := openFile(t, dir)
	if _, err := f.Swap(ctx, Entry{Key: "orders/0", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "orders")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(ctx, "orders/0"); !errors.Is(err, ErrNoRecord) {
		t.Errorf("load: %v", err)
	}
	_, _ = f.Swap(ctx, Entry{Key: "orders/0", Body: []byte("x")}) // It may report that the directory is missing.
	if _, err := f.Swap(ctx, Entry{Key: "orders/1", Body: []byte("x")}); err != nil {
		t.Errorf("the directory is not made again: %v", err)
	}
}

// TestFileErrorsNameTheDirectory: an error of the operating system names the directory, also where its
// own path is relative to it.
func TestFileErrorsNameTheDirectory(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	f := openFile(t, dir)
	for _, inner := range []string{locksDir, tempDir} {
		if err := os.RemoveAll(filepath.Join(dir, inner)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := f.Swap(ctx, Entry{Key: "orders/0", Body: []byte("x")})
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("swap: %v, want %q in it", err, dir)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.List(ctx, "orders/"); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("list: %v, want %q in it", err, dir)
	}
	if _, err := f.Load(ctx, "orders/0"); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("load: %v, want %q in it", err, dir)
	}
}

// TestStoresNameThemselves: messages name a store as its user did.
func TestStoresNameThemselves(t *testing.T) {
	t.Chdir(t.TempDir())
	for s, want := range map[Store]string{
		openFile(t, "ids"): "file:ids", NewMemory(): "memory of this process", struct{ Store }{}: "struct { store.Store }",
	} {
		if got := nameOf(s); got != want {
			t.Errorf("it is named %q, want %q", got, want)
		}
	}
}
