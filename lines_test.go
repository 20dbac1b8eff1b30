package snowgrid_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const lineMax = 120

// longLines lists the numbers of longer lines that are accepted, by area: comments with a table or an output, and
// strings without a space. They may fall, but not rise.
var longLines = map[string]int{
	"cmd/snowgrid":       1,
	"cmd/snowgrid-serve": 1,
	"grid":               13,
	"grid/internal":      1,
	"proof/mutants":      1,
	"sequencer":          1,
}

// TestLines bounds the lines in Go files, tests included, at lineMax characters.
func TestLines(t *testing.T) {
	found, examples := map[string]int{}, map[string][]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, ".pb.go") {
			return err
		}
		dir := areaOf(filepath.ToSlash(filepath.Dir(name)))
		long := overlong(readFile(t, name))
		found[dir] += len(long)
		for _, line := range long {
			examples[dir] = append(examples[dir], name+": "+line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		switch n, accepted := found[dir], longLines[dir]; {
		case n > accepted:
			t.Errorf("%s: %d lines have more than %d characters, accepted are %d; break some of:\n\t%s", dir, n, lineMax,
				accepted, strings.Join(examples[dir], "\n\t"))
		case n < accepted*2/3:
			t.Errorf("%s: %d lines have more than %d characters; lower the %d in longLines", dir, n, lineMax, accepted)
		}
	}
	for dir := range longLines {
		if found[dir] == 0 {
			t.Errorf("%s: no line has more than %d characters; remove it from longLines", dir, lineMax)
		}
	}
}

// areaOf returns the first two elements of a directory: a package and its parts.
func areaOf(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// overlong returns the lines of a Go file with more than lineMax characters, a tab being one.
// A line of a raw string does not count: it cannot be broken.
func overlong(source string) (long []string) {
	lines := strings.Split(source, "\n")
	if !slices.ContainsFunc(lines, func(line string) bool { return utf8.RuneCountInString(line) > lineMax }) {
		return nil
	}
	exempt := map[int]bool{}
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, []byte(source), nil, 0)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if first := file.Line(pos); tok == token.STRING && text[0] == '`' {
			for i := range strings.Count(text, "\n") + 1 {
				exempt[first+i] = true
			}
		}
	}
	for i, line := range lines {
		if utf8.RuneCountInString(line) > lineMax && !exempt[i+1] {
			long = append(long, line)
		}
	}
	return long
}

// TestLinesCanFail gives the check lines that count, and lines that do not.
func TestLinesCanFail(t *testing.T) {
	words := strings.Repeat("w ", lineMax/2)
	comment, text := "var a = b // "+words, "var c = \""+words+"\""
	source := "package x\n\n" + comment + "\n" + text + "\nvar q = `" + words + words + "\n" + words + words + "`\n"
	if long := overlong(source); !slices.Equal(long, []string{comment, text}) {
		t.Errorf("%q", long)
	}
}
