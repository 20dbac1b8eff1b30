package databases_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
)

// TestGeneratedCodeIsCurrent generates the code of ent and sqlc again, and compares the files with those before.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	long.Only(t, "it compiles the generators, which takes minutes once")
	for _, dir := range []string{"ent", "sqlc"} {
		before := filesIn(t, filepath.Join(dir, "generated"))
		if len(before) == 0 {
			t.Errorf("%s: the folder generated is empty", dir)
		}
		cmd := exec.CommandContext(t.Context(), "go", "generate", ".")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: go generate: %v\n%s", dir, err, out)
		}
		if after := filesIn(t, filepath.Join(dir, "generated")); !maps.Equal(before, after) {
			t.Errorf("%s: the generated code was not current; it is now: commit it", dir)
		}
	}
}

// filesIn returns the texts of the files below a directory, by their names.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		texts[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
