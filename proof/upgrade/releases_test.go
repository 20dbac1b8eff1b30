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
	var err error
	if built.dir, err = os.MkdirTemp("", "snowgrid-upgrade-"); err != nil {
		t.Fatal(err)
	}
	built.before, built.present = build(t, "before", root, ""), build(t, "present", root, NextTag)
	return built.before, built.present
}

// build builds the programs of a tree with a build tag.
func build(t *testing.T, name, tree, tag string) release {
	t.Helper()
	bin := filepath.Join(built.dir, name)
	r := release{name: name, agent: filepath.Join(bin, "snowgrid"), holder: filepath.Join(bin, "holder")}
	output(t, tree, "go", "build", "-trimpath", "-tags", tag, "-o", r.agent, "./cmd/snowgrid")
	output(t, filepath.Join(tree, "proof"), "go", "build", "-trimpath", "-tags", tag, "-o", r.holder, "./upgrade/holder")
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
