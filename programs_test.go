package snowgrid_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// programHeads are how compiled programs of Linux, Windows and macOS begin.
var programHeads = []string{"\x7fELF", "MZ\x90\x00", "\xcf\xfa\xed\xfe"}

// TestNoProgramsInTheRepository: programs are built from their source, and are not kept beside it.
func TestNoProgramsInTheRepository(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("git ls-files: %v: this is not a checkout", err)
	}
	files := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	for _, name := range files {
		head, err := headOf(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is being deleted
		}
		if err != nil {
			t.Fatal(err)
		}
		if isProgram(head) {
			t.Errorf("%s is a compiled program: remove it, and name it in .gitignore", name)
		}
	}
	self, err := headOf(os.Args[0])
	if err != nil || !isProgram(self) || len(files) == 0 {
		t.Errorf("of %d files, this test would not be one: %q, %v", len(files), self, err)
	}
}

func isProgram(head []byte) bool {
	for _, program := range programHeads {
		if bytes.HasPrefix(head, []byte(program)) {
			return true
		}
	}
	return false
}

// headOf returns the first four bytes of a file, or fewer if it is shorter. A directory has none.
func headOf(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := f.Read(head) // nothing of an empty file or a directory
	return head[:n], nil
}
