package identity

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/sequencer"
)

var three = Number{Cluster: "shop", Set: "web", ID: 3, Code: numbers.Code{7}}

func open(t *testing.T, path string) Dir {
	t.Helper()
	d, lock, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	return d
}

// TestDirKeepsNumbers: written numbers are read, by another process too.
func TestDirKeepsNumbers(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "new", "dir"))
	if files, err := d.Read(); err != nil || files != (Files{}) {
		t.Fatalf("an empty directory: %+v, %v", files, err)
	}
	four := three
	four.ID = 4
	if err := errors.Join(d.StoreApplication(four), d.StoreApplication(three)); err != nil {
		t.Fatal(err)
	}
	if files, err := d.Read(); err != nil || files.Number != nil || files.Application == nil ||
		*files.Application != three {
		t.Fatalf("after the application: %+v, %v", files, err)
	}
	if err := d.StoreNumber(three); err != nil {
		t.Fatal(err)
	}
	if files, err := d.Read(); err != nil || files.Application == nil || files.Number == nil || *files.Number != three {
		t.Fatalf("after the number: %+v, %v", files, err)
	}
	if err := errors.Join(d.RemoveApplication(), d.RemoveApplication()); err != nil {
		t.Fatal(err)
	}
	if files, err := d.Read(); err != nil || files.Application != nil || *files.Number != three {
		t.Fatalf("at the end: %+v, %v", files, err)
	}
}

// TestDirHasOneProcess: a second process gets a clear error, and the directory when the
// first has ended.
func TestDirHasOneProcess(t *testing.T) {
	path := t.TempDir()
	_, lock, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = OpenDir(path)
	if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("a second process: %v", err)
	}
	_ = lock.Close()
	open(t, path)
}

// TestDamagedFilesAreErrors: no content of a file that is there counts as none, and the file
// is left as it is.
func TestDamagedFilesAreErrors(t *testing.T) {
	good, err := durable.Seal(numberFile{Format: Format, Number: three})
	if err != nil {
		t.Fatal(err)
	}
	application, err := durable.Seal(applicationFile{Format, three})
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte(nil), good...)
	flipped[len(flipped)/2] ^= 1
	later, err := durable.Seal(numberFile{Format: Format + 1, Number: three})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file, text, says string
	}{
		"empty":             {NumberFile, "", "is damaged"},
		"half":              {NumberFile, string(good[:len(good)/2]), "is damaged"},
		"one bit":           {NumberFile, string(flipped), "is damaged"},
		"another number":    {NumberFile, strings.Replace(string(good), `"id":3`, `"id":4`, 1), "its checksum"},
		"more behind it":    {NumberFile, string(good) + "\n", "is damaged"},
		"later format":      {NumberFile, string(later), "has format 2"},
		"an application":    {NumberFile, string(application), "is damaged"},
		"half application":  {ApplicationFile, string(application[:len(application)/2]), "is damaged"},
		"no application":    {ApplicationFile, "half", "is damaged"},
		"longer than a MiB": {NumberFile, strings.Repeat(" ", maxFile+1), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, t.TempDir())
			path := filepath.Join(string(d), c.file)
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
	if err := os.WriteFile(filepath.Join(dir, ApplicationFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := Dir(dir).ReadApplication(); n != nil || err != nil {
		t.Errorf("%v, %v", n, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, content := range []any{numberFile{Format: Format, Number: three}, applicationFile{Format, three}} {
		data, err := durable.Seal(content)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var number numberFile
		if err := Decode(data, &number); err == nil && number.Member == "" && number.Number.Check() != nil {
			t.Errorf("%q: read a number that is none: %+v", data, number)
		}
		var application applicationFile
		if err := Decode(data, &application); err == nil && application.Application.Check() != nil {
			t.Errorf("%q: read an application that is none: %+v", data, application)
		}
	})
}
