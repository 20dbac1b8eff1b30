package formation

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/sequencer"
)

// newIdentity keeps a new identity that says something in every field.
func newIdentity(t *testing.T) (dir, path string, id *Identity) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "made", "by", "it")
	id, err := LoadIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	id.Grid, id.Forming = NewGridID(), true
	id.Accepted = Attempt{BootstrapMember: id.Member, Grid: id.Grid}
	if err := id.Save(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, identityFile), id
}

func TestIdentityIsKept(t *testing.T) {
	dir, path, id := newIdentity(t)
	for range 2 {
		got, err := LoadIdentity(dir)
		if err != nil || *got != *id {
			t.Errorf("loaded %+v, error %v; kept %+v", got, err, id)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, error %v", entries, err)
	}
	_, _, other := newIdentity(t)
	volatile, err := LoadIdentity("")
	one, two := NewIncarnation(id.Member), NewIncarnation(id.Member)
	if err != nil || other.Member == id.Member || volatile.Member == id.Member || one == two {
		t.Errorf("members %s, %s and %s; error %v", id.Member, other.Member, volatile.Member, err)
	}
	if err := volatile.Save(); err != nil {
		t.Error(err)
	}
}

// TestIdentityIsReplacedAsAWhole fails each step of a save and wants the file of
// before, whole.
func TestIdentityIsReplacedAsAWhole(t *testing.T) {
	dir, path, id := newIdentity(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(path) // as a reader that began before the save
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()

	// The rest of a save that a crash interrupted does not matter.
	if err := os.WriteFile(path+".temp", before[:10], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadIdentity(dir); err != nil || *got != *id {
		t.Errorf("beside an unfinished save: %+v, error %v", got, err)
	}
	id.Forming = false
	if err := id.Save(); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadIdentity(dir); err != nil || *got != *id {
		t.Errorf("after the save: %+v, error %v", got, err)
	}
	// It was another file that took the place: who reads the old one still does.
	old := make([]byte, len(before))
	if _, err := held.ReadAt(old, 0); err != nil || !bytes.Equal(old, before) {
		t.Errorf("the old file was written to: %q, error %v", old, err)
	}

	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A directory is in the way of the temporary file.
	if err := os.MkdirAll(filepath.Join(path+".new", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	id.Forming = true
	if err := id.Save(); err == nil {
		t.Error("a save that could not write says it did")
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, after) {
		t.Errorf("a save that failed left %q, error %v", now, err)
	}
}

func TestIdentityThatCannotBeRead(t *testing.T) {
	dir, path, _ := newIdentity(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := LoadIdentity(dir)
		if !errors.Is(err, sequencer.ErrInvalidConfig) || got != nil {
			t.Errorf("%s: %+v, error %v", what, got, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, content) {
			t.Errorf("%s: the file is now %q, error %v", what, now, err)
		}
	}
	for n := range good {
		refused("cut off", good[:n])
	}
	for i := range 8 * len(good) {
		flipped := bytes.Clone(good)
		flipped[i/8] ^= 1 << (i % 8)
		refused("one bit", flipped)
	}
	refused("zeros", make([]byte, len(good)))
	refused("twice", append(bytes.Clone(good), good...))
	refused("null", []byte("null"))
	refused("empty object", []byte("{}"))
	// The checksum is right, but the content is not an identity.
	refused("no format", sealedContent(t, `{}`))
	refused("no member", sealedContent(t, `{"format":1}`))
	refused("format 0", sealedContent(t, `{"format":0,"member":"0123456789abcdef"}`))
	refused("an extra field beside the checksum", append(bytes.Clone(good[:len(good)-1]), `,"more":1}`...))

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadIdentity(dir); !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("a directory in its place: %+v, error %v", got, err)
	}
}

// sealedContent returns an identity file with any content and the right checksum.
func sealedContent(t *testing.T, content string) []byte {
	t.Helper()
	data, err := durable.Seal(json.RawMessage(content))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestIdentityWithAnExtraField: a later version may add a field without making the
// file unreadable.
func TestIdentityWithAnExtraField(t *testing.T) {
	dir, path, id := newIdentity(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := durable.Unseal(good)
	if err != nil {
		t.Fatal(err)
	}
	extended := string(content[:len(content)-1]) + `,"zone":"a","more":{"deep":[1,2]}}`
	if err := os.WriteFile(path, sealedContent(t, extended), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadIdentity(dir); err != nil || *got != *id {
		t.Errorf("loaded %+v, error %v; want %+v", got, err, id)
	}
}

// TestIdentityOfALaterFormat: the error names both formats and the remedy, and does
// not call the file damaged: an empty directory would lose the grid.
func TestIdentityOfALaterFormat(t *testing.T) {
	dir, path, _ := newIdentity(t)
	if err := os.WriteFile(path, sealedContent(t, `{"format":2,"member":{"an":"object"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := LoadIdentity(dir)
	if !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{path, "format 2", "format 1", "version of snowgrid that wrote it"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	for _, wrong := range []string{"damaged", "empty directory"} {
		if strings.Contains(err.Error(), wrong) {
			t.Errorf("%q says %q", err, wrong)
		}
	}
}
