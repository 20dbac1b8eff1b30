//go:build unix

package upgrade

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
)

// release is one release as programs.
type release struct {
	name          string
	agent, holder string // paths of the programs
}

// built is the directory of the programs and the releases in it, for all tests.
var built struct {
	sync.Mutex
	dir             string
	before, present release
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// releases builds the release before and the present one, once.
func releases(t *testing.T) (before, present release) {
	t.Helper()
	long.Only(t, "it builds the release before, and runs agents for half a minute")
	built.Lock()
	defer built.Unlock()
	if built.present != (release{}) {
		return built.before, built.present
	}
	root := strings.TrimSpace(output(t, ".", "git", "rev-parse", "--show-toplevel"))
	if err := exec.Command("git", "-C", root, "cat-file", "-e", Previous+"^{commit}").Run(); err != nil {
		t.Skipf("this clone lacks the release before, commit %s: git fetch --unshallow", Previous)
	}
	var err error
	if built.dir, err = os.MkdirTemp("", "snowgrid-upgrade-"); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(built.dir, "tree")
	if err := os.MkdirAll(filepath.Join(tree, "proof", "upgrade", "holder"), 0o700); err != nil {
		t.Fatal(err)
	}
	archive := exec.Command("git", "-C", root, "archive", Previous)
	unpack := exec.Command("tar", "-x", "-C", tree)
	if unpack.Stdin, err = archive.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := unpack.Start(); err != nil {
		t.Fatal(err)
	}
	if err := archive.Run(); err != nil {
		t.Fatalf("git archive: %v", err)
	}
	if err := unpack.Wait(); err != nil {
		t.Fatalf("tar: %v", err)
	}
	patch, err := filepath.Abs(filepath.Join("testdata", "datadir.patch"))
	if err != nil {
		t.Fatal(err)
	}
	apply := exec.Command("git", "-C", tree, "apply", patch)
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+built.dir) // tree is in no repository
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	source, err := os.ReadFile(filepath.Join(root, "proof", "upgrade", "holder", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "proof", "upgrade", "holder", "main.go"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	built.before, built.present = build(t, "before", tree), build(t, "present", root)
	return built.before, built.present
}

// build builds the programs of a tree.
func build(t *testing.T, name, tree string) release {
	t.Helper()
	bin := filepath.Join(built.dir, name)
	r := release{name: name, agent: filepath.Join(bin, "snowgrid"), holder: filepath.Join(bin, "holder")}
	output(t, tree, "go", "build", "-trimpath", "-o", r.agent, "./cmd/snowgrid")
	dir, holder := tree, "./proof/upgrade/holder"
	if _, err := os.Stat(filepath.Join(tree, "proof", "go.mod")); err == nil { // proof is a module of its own
		dir, holder = filepath.Join(tree, "proof"), "./upgrade/holder"
	}
	output(t, dir, "go", "build", "-trimpath", "-o", r.holder, holder)
	return r
}

// output runs a program in a directory and returns its standard output.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}
