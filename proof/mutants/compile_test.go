package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
)

// TestMutantsCompile type-checks every mutant: one that does not compile guards nothing. It leaves
// out the files of nested modules other than this one, and of other platforms.
func TestMutantsCompile(t *testing.T) {
	long.Only(t, "it type-checks a package a thousand times")
	t.Chdir("../..")
	jobs := make(chan mutant)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			sources := map[string]*source{}
			for m := range jobs {
				edits := map[string]string{} // by file
				var err error
				for _, e := range m.edits(false) {
					edits[e.file], err = weakened(e, edits[e.file])
				}
				tags := suiteOf(m.tests).tags
				dir := filepath.Dir(m.file)
				if sources[tags+dir] == nil {
					sources[tags+dir] = load(dir, tags)
				}
				if err = cmp.Or(err, sources[tags+dir].check(edits)); err != nil {
					t.Errorf("%s, %s: %v", m.rule, m.what, err)
				}
			}
		})
	}
	left := 0
	for _, m := range mutants {
		if strings.HasSuffix(m.file, ".go") && ofThisModule(m.file) {
			jobs <- m
		} else {
			left++
		}
	}
	close(jobs)
	wg.Wait()
	t.Logf("%d mutants type-checked, %d left out", len(mutants)-left, left)
}

// weakened returns a file's text with one more edit; before is the text with earlier ones, "" for none.
func weakened(e edit, before string) (string, error) {
	if before == "" {
		text, err := os.ReadFile(e.file)
		if err != nil {
			return "", err
		}
		before = string(text)
	}
	if strings.Count(before, e.old) != 1 {
		return before, fmt.Errorf("%s has the line to weaken %d times", e.file, strings.Count(before, e.old))
	}
	return strings.Replace(before, e.old, e.new, 1), nil
}

// ofThisModule reports whether a file is of the root module or of proof.
func ofThisModule(file string) bool {
	for dir := filepath.Dir(file); dir != "." && dir != "proof"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return false
		}
	}
	return true
}

// source is a package's files, and the export data of what it imports.
type source struct {
	dir     string
	files   []string
	parsed  map[string]*ast.File // those without an edit
	imports types.Importer
	fset    *token.FileSet
	err     error
}

// load lists a package's files and compiles what it imports.
func load(dir, tags string) *source {
	s := &source{dir: dir, fset: token.NewFileSet(), parsed: map[string]*ast.File{}}
	cmd := exec.Command("go", "list", "-tags="+tags, "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", ".")
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); err == nil; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		if err = d.Decode(&p); err == nil {
			exports[p.ImportPath] = p.Export
			s.files = p.GoFiles // the package itself is the last
		}
	}
	if !errors.Is(err, io.EOF) {
		s.err = err
	}
	s.imports = importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	return s
}

// check type-checks the package with some files' texts replaced.
func (s *source) check(edits map[string]string) error {
	if s.err != nil {
		return s.err
	}
	var files []*ast.File
	applied := 0
	for _, name := range s.files {
		path := filepath.ToSlash(filepath.Join(s.dir, name))
		file := s.parsed[path]
		var text any
		if edit, edited := edits[path]; edited {
			applied, text, file = applied+1, edit, nil
		}
		if file == nil {
			var err error
			if file, err = parser.ParseFile(s.fset, path, text, parser.SkipObjectResolution); err != nil {
				return err
			}
		}
		if text == nil {
			s.parsed[path] = file
		}
		files = append(files, file)
	}
	if applied == 0 {
		return nil // of another platform
	}
	_, err := (&types.Config{Importer: s.imports}).Check(s.dir, s.fset, files, nil)
	return err
}
