package durable

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplace: until the new content is whole under another name, and after a write that
// failed, the file has the old content.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	content := func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if err := Replace(path, []byte("old"), nil); err != nil {
		t.Fatal(err)
	}
	err := Replace(path, []byte("new"), func() {
		written, err := os.ReadFile(path + scratch)
		if content() != "old" || string(written) != "new" || err != nil {
			t.Errorf("before the rename the file has %q, and the other one %q, %v", content(), written, err)
		}
	})
	if err != nil || content() != "new" {
		t.Errorf("after the rename the file has %q, %v", content(), err)
	}
	if err := os.MkdirAll(filepath.Join(path+scratch, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("newer"), nil); err == nil || content() != "new" {
		t.Errorf("after a failed write the file has %q, %v", content(), err)
	}
}

// TestLock: a lock belongs to an open file.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	a, b := open(), open()
	take := func(f *os.File, want bool) {
		t.Helper()
		if taken, err := TryLock(f); taken != want || err != nil {
			t.Errorf("%v, %v; want %v", taken, err, want)
		}
	}
	take(a, true)
	take(b, false)
	Unlock(a)
	take(b, true)
}
