package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// suite is a parsed go test command line.
type suite struct {
	module   string   // the folder of a nested module, "" for the root module
	tags     string   // build tags
	packages []string // patterns
	flags    []string // for the test programs
}

// ofGoTest lists the go test flags that have another name in test programs.
var ofGoTest = []string{"-run", "-skip", "-short", "-v", "-count"}

func suiteOf(tests []string) (s suite) {
	if len(tests) > 1 && tests[0] == "-C" {
		s.module, tests = tests[1], tests[2:]
	}
	if len(tests) > 1 && tests[0] == "-tags" {
		s.tags, tests = tests[1], tests[2:]
	}
	first := slices.IndexFunc(tests, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if first < 0 {
		first = len(tests)
	}
	s.packages = tests[:first]
	for _, arg := range tests[first:] {
		if slices.Contains(ofGoTest, arg) {
			arg = "-test." + arg[1:]
		}
		s.flags = append(s.flags, arg)
	}
	return s
}

// program is a test program and its package's folder, in which it runs.
type program struct {
	path, dir string
	long      bool // it has the flag -long
}

// builds compiles test programs, each once: compiling and linking take most of a mutant's time, and
// a verdict needs several runs. Its methods may be called concurrently.
type builds struct {
	dir string

	mu    sync.Mutex
	count int
	known map[string]func() ([]program, error) // by source and packages
}

func newBuilds(dir string) *builds {
	return &builds{dir: dir, known: map[string]func() ([]program, error){}}
}

// unbuiltError is compiler output.
type unbuiltError string

func (e unbuiltError) Error() string { return string(e) }

// programs returns a suite's test programs for code with some lines weakened. A compiler error is
// an [unbuiltError].
func (b *builds) programs(ctx context.Context, s suite, weak []edit) ([]program, error) {
	b.mu.Lock()
	k := key(s, weak)
	build := b.known[k]
	if build == nil {
		dir := filepath.Join(b.dir, strconv.Itoa(b.count))
		b.count++
		build = sync.OnceValues(func() ([]program, error) { return compile(ctx, dir, s, weak) })
		b.known[k] = build
	}
	b.mu.Unlock()
	return build()
}

// forget removes the programs for weakened code.
func (b *builds) forget(s suite, weak []edit) {
	b.mu.Lock()
	k := key(s, weak)
	build := b.known[k]
	delete(b.known, k)
	b.mu.Unlock()
	if build == nil {
		return
	}
	if programs, err := build(); err == nil && len(programs) > 0 {
		_ = os.RemoveAll(filepath.Dir(programs[0].path))
	}
}

func key(s suite, weak []edit) string {
	return fmt.Sprintf("%q %q %q %q", s.module, s.tags, s.packages, weak)
}

// compile writes a suite's test programs to a new folder.
func compile(ctx context.Context, dir string, s suite, weak []edit) ([]program, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var first []string
	if s.module != "" { // go requires it first
		first = []string{"-C", s.module}
	}
	const form = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}\t{{.TestImports}}{{.XTestImports}}{{end}}"
	list, err := goCommand(ctx, slices.Concat([]string{"list"}, first, []string{"-tags", s.tags, "-f", form}, s.packages))
	if err != nil {
		return nil, err
	}
	args := slices.Concat([]string{"test"}, first, []string{"-tags", s.tags, "-c", "-vet=off", "-o",
		dir + string(filepath.Separator)})
	if len(weak) > 0 {
		overlay, err := overlay(dir, weak)
		if err != nil {
			return nil, err
		}
		args = append(args, "-overlay", overlay)
	}
	if _, err := goCommand(ctx, slices.Concat(args, s.packages)); err != nil {
		return nil, err
	}
	var out []program
	for line := range strings.Lines(list) {
		if fields := strings.Split(line, "\t"); len(fields) == 3 {
			out = append(out, program{
				path: filepath.Join(dir, filepath.Base(fields[0])+".test"), dir: fields[1],
				long: strings.Contains(fields[2], "/internal/long"),
			})
		}
	}
	return out, nil
}

// goCommand returns the go command's output.
func goCommand(ctx context.Context, args []string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		return "", unbuiltError(out)
	}
	return string(out), errors.Join(err, ctx.Err())
}

// overlay writes the weakened files, and the compiler's list of them.
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
			source = weak // an earlier edit has changed the file
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
