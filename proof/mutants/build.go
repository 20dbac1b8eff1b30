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

// pkg is a package with tests.
type pkg struct {
	path, dir string
	long      bool // its tests have the flag -long
}

// program is a package's test program.
type program struct {
	pkg
	file string
}

// builds compiles test programs, each once and only when it is run: compiling and linking take most
// of a mutant's time, and the first package often notices it. Its methods may be called concurrently.
type builds struct {
	dir string

	mu    sync.Mutex
	count int
	lists map[string]func() ([]pkg, error) // by module, tags and patterns
	known map[build]func() (program, error)
}

// build identifies a test program by its source and its package.
type build struct{ source, pkg string }

func newBuilds(dir string) *builds {
	return &builds{dir: dir, lists: map[string]func() ([]pkg, error){}, known: map[build]func() (program, error){}}
}

// unbuiltError is compiler output.
type unbuiltError string

func (e unbuiltError) Error() string { return string(e) }

// packages returns the packages of a suite that have tests.
func (b *builds) packages(ctx context.Context, s suite) ([]pkg, error) {
	b.mu.Lock()
	k := fmt.Sprintf("%q %q %q", s.module, s.tags, s.packages)
	list := b.lists[k]
	if list == nil {
		list = sync.OnceValues(func() ([]pkg, error) { return s.list(ctx) })
		b.lists[k] = list
	}
	b.mu.Unlock()
	return list()
}

// program returns a package's test program for code with some lines weakened. A compiler error is an
// [unbuiltError].
func (b *builds) program(ctx context.Context, s suite, of pkg, weak []edit) (program, error) {
	b.mu.Lock()
	k := build{sourceOf(s, weak), of.path}
	compiled := b.known[k]
	if compiled == nil {
		dir := filepath.Join(b.dir, strconv.Itoa(b.count))
		b.count++
		compiled = sync.OnceValues(func() (program, error) { return compile(ctx, dir, s, of, weak) })
		b.known[k] = compiled
	}
	b.mu.Unlock()
	return compiled()
}

// forget removes the programs for weakened code.
func (b *builds) forget(s suite, weak []edit) {
	source := sourceOf(s, weak)
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, compiled := range b.known {
		if k.source != source {
			continue
		}
		delete(b.known, k)
		if p, err := compiled(); err == nil {
			_ = os.RemoveAll(filepath.Dir(p.file))
		}
	}
}

func sourceOf(s suite, weak []edit) string { return fmt.Sprintf("%q %q %q", s.module, s.tags, weak) }

// goArgs returns the arguments of a go command for a suite's module and tags.
func (s suite) goArgs(command string) []string {
	args := []string{command}
	if s.module != "" { // go requires it first
		args = append(args, "-C", s.module)
	}
	return append(args, "-tags", s.tags)
}

// list lists a suite's packages.
func (s suite) list(ctx context.Context) (all []pkg, err error) {
	const form = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}\t{{.TestImports}}{{.XTestImports}}{{end}}"
	list, err := goCommand(ctx, slices.Concat(s.goArgs("list"), []string{"-f", form}, s.packages))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(list) {
		if fields := strings.Split(line, "\t"); len(fields) == 3 {
			all = append(all, pkg{fields[0], fields[1], strings.Contains(fields[2], "/internal/long")})
		}
	}
	return all, nil
}

// compile writes a package's test program to a new folder.
func compile(ctx context.Context, dir string, s suite, of pkg, weak []edit) (program, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return program{}, err
	}
	p := program{of, filepath.Join(dir, "tests")}
	args := append(s.goArgs("test"), "-c", "-vet=off", "-o", p.file)
	if len(weak) > 0 {
		overlay, err := overlay(dir, weak)
		if err != nil {
			return program{}, err
		}
		args = append(args, "-overlay", overlay)
	}
	_, err := goCommand(ctx, append(args, of.path))
	return p, err
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
