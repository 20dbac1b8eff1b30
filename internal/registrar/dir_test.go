package registrar

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/registration"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

var three = registration.Number{Cluster: "shop", Set: "web", ID: 3, Code: roster.Code{7}}

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// TestDirKeepsNumbers: written numbers are read, by another process too.
func TestDirKeepsNumbers(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "new", "dir"))
	if files, err := d.Read(); err != nil || files != (registration.Files{}) {
		t.Fatalf("an empty directory: %+v, %v", files, err)
	}
	four := three
	four.ID = 4
	if err := errors.Join(d.WriteTemp(four), d.WriteTemp(three)); err != nil {
		t.Fatal(err)
	}
	if files, err := d.Read(); err != nil || files.Final != nil || files.Temp == nil || *files.Temp != three {
		t.Fatalf("after the application: %+v, %v", files, err)
	}
	if err := d.WriteFinal(three); err != nil {
		t.Fatal(err)
	}
	if files, err := d.Read(); err != nil || files.Temp == nil || files.Final == nil || *files.Final != three {
		t.Fatalf("after the number: %+v, %v", files, err)
	}
	if err := errors.Join(d.RemoveTemp(), d.RemoveTemp()); err != nil {
		t.Fatal(err)
	}
	if files, err := d.Read(); err != nil || files.Temp != nil || *files.Final != three {
		t.Fatalf("at the end: %+v, %v", files, err)
	}
}

// TestDirHasOneProcess: a second process gets a clear error, and the directory when the
// first has ended.
func TestDirHasOneProcess(t *testing.T) {
	path := t.TempDir()
	first := open(t, path)
	_, err := OpenDir(path)
	if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("a second process: %v", err)
	}
	_ = first.Close()
	open(t, path)
}

// TestDamagedFilesAreErrors: no content of a file that is there counts as none, and the file
// is left as it is.
func TestDamagedFilesAreErrors(t *testing.T) {
	good, err := encode(three, false)
	if err != nil {
		t.Fatal(err)
	}
	application, err := encode(three, true)
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte(nil), good...)
	flipped[len(flipped)/2] ^= 1
	later := strings.Replace(string(good), `"format":1`, `"format":2`, 1)
	for name, c := range map[string]struct {
		file, text, says string
	}{
		"empty":             {FinalFile, "", "is damaged"},
		"half":              {FinalFile, string(good[:len(good)/2]), "is damaged"},
		"one bit":           {FinalFile, string(flipped), "is damaged"},
		"another number":    {FinalFile, strings.Replace(string(good), `"id":3`, `"id":4`, 1), "its checksum"},
		"more behind it":    {FinalFile, string(good) + "\n", "is damaged"},
		"later format":      {FinalFile, later, "is damaged"},
		"an application":    {FinalFile, string(application), "is damaged"},
		"half application":  {TempFile, string(application[:len(application)/2]), "is damaged"},
		"no application":    {TempFile, "half", "is damaged"},
		"longer than a MiB": {FinalFile, strings.Repeat(" ", maxFile+1), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, t.TempDir())
			path := filepath.Join(d.Path(), c.file)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := d.Read()
			if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("read: %v", err)
			}
			if after, _ := os.ReadFile(path); string(after) != c.text {
				t.Error("the file has changed")
			}
		})
	}
}

// TestEmptyApplication: a process may end between creating the file and its first write.
func TestEmptyApplication(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, TempFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := ReadTemp(dir); n != nil || err != nil {
		t.Errorf("%v, %v", n, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, application := range []bool{false, true} {
		data, err := encode(three, application)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, application := range []bool{false, true} {
			n, err := decode(data, application)
			if err != nil || n.Member != "" {
				continue
			}
			if err := n.Number.Check(); err != nil {
				t.Errorf("%q: read a number that is none: %v", data, err)
			}
		}
	})
}
