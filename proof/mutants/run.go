package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is one weakening of one rule: new takes the place of old in a file.
type mutant struct {
	rule, what string
	file       string
	old, new   string
	tests      []string // arguments of go test: those that guard the rule; -C and a folder first for a nested module
}

// edit is a line that is weakened.
type edit struct{ file, old, new string }

// edits returns the lines that are weakened, of a whole grid or beside the rule.
func (m mutant) edits(whole bool) []edit {
	if m.file == "" {
		return nil
	}
	out := []edit{{m.file, m.old, m.new}}
	if whole || m.isExplored() {
		out = append(out, secondLines[m.what]...)
	}
	return out
}

// outcome is how a mutant's tests ended.
type outcome int

const (
	survived outcome = iota // every test passed
	killed                  // a test failed
	unbuilt                 // the mutant does not compile
	flaky                   // a test failed that fails without the mutant too, or not again with it
)

// verdict is the outcome for a mutant and the test it rests on.
type verdict struct {
	outcome outcome
	test    string // the first that failed, unknownTest if the output does not name it
	said    string
}

// unknownTest stands for a failure that the output attributes to no test.
const unknownTest = "?"

// run tests a mutant; the zero mutant is the unchanged code.
func (m mutant) run(ctx context.Context, tests []string) (verdict, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return verdict{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args := []string{"test"}
	if len(tests) > 1 && tests[0] == "-C" { // a module of its own; go wants it first
		args, tests = append(args, tests[:2]...), tests[2:]
	}
	args = append(args, "-count=1", "-failfast", "-timeout", limit.String())
	if edits := m.edits(*by != ""); len(edits) > 0 {
		overlay, err := overlay(dir, edits)
		if err != nil {
			return verdict{}, err
		}
		args = append(args, "-overlay", overlay)
	}
	// Properties draw new values in each run, and leave no file that a later run would try first.
	cmd := exec.CommandContext(ctx, "go", slices.Concat(args, tests)...)
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=1")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return verdict{}, errors.Join(err, ctx.Err())
	}
	if err == nil {
		return verdict{}, nil
	}
	if bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) {
		return verdict{outcome: unbuilt, said: string(out)}, nil
	}
	return verdictOf(string(out)), nil
}

// overlay writes the weakened files, and what go test needs to take them.
func overlay(dir string, edits []edit) (string, error) {
	replace := map[string]string{}
	for _, e := range edits {
		path, err := filepath.Abs(e.file)
		if err != nil {
			return "", err
		}
		source, weak := path, replace[path]
		if weak == "" {
			weak = filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(e.file)))
			replace[path] = weak
		} else {
			source = weak // it has lost a line already
		}
		if err := e.apply(source, weak); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, text, 0o600)
}

// apply writes a file with the line weakened.
func (e edit) apply(source, weak string) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), e.old); n != 1 {
		return fmt.Errorf("%s has the line to weaken %d times: %s", e.file, n, e.old)
	}
	return os.WriteFile(weak, []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o600)
}

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	panics = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
	runs   = regexp.MustCompile(`running tests:\s+(\S+)`)
	says   = regexp.MustCompile(`(?m)^\s+\S+_test\.go:\d+: (.*(?:\n\s{8,}.*)?)`)
)

// verdictOf reads the output of a go test that failed.
func verdictOf(out string) verdict {
	v := verdict{outcome: killed, test: unknownTest}
	if all := failed.FindAllStringSubmatch(out, -1); len(all) > 0 {
		v.test = all[len(all)-1][1] // the innermost of the first
		for _, one := range all {
			if strings.HasPrefix(one[1], all[0][1]) {
				v.test = one[1]
			}
		}
	}
	if p := panics.FindString(out); p != "" {
		v.said = p
		if running := runs.FindStringSubmatch(out); v.test == unknownTest && running != nil {
			v.test = running[1]
		}
		return v
	}
	if s := says.FindStringSubmatch(out); s != nil {
		v.said = s[1]
	}
	return v
}
