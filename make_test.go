package snowgrid_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTargetsRunTheirTests: each `go test -run` of the Makefile matches a test, and passes -long if one
// that it matches is skipped without.
func TestTargetsRunTheirTests(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.ReplaceAll(string(text), "\\\n", " ")
	command := regexp.MustCompile(`\$\(GO\) test (.*)-run '([^']+)' (\./\S+|\.)(.*)`)
	within := regexp.MustCompile(`-C (\S+)|cd (\S+) &&`)
	found := 0
	for line := range strings.Lines(lines) {
		c := command.FindStringSubmatch(line)
		if c == nil || c[2] == "^$$" { // fuzz targets
			continue
		}
		found++
		dir := c[3]
		if in := within.FindStringSubmatch(line); in != nil {
			dir = filepath.Join(in[1]+in[2], dir)
		}
		names := regexp.MustCompile(strings.ReplaceAll(c[2], "$$", "$"))
		tests, long := testsOf(t, dir, names)
		if tests == 0 {
			t.Errorf("no test in %s matches %s: %s", dir, c[2], strings.TrimSpace(line))
		}
		if long != "" && !strings.Contains(c[4], "-long") {
			t.Errorf("%s in %s is skipped without -long: %s", long, dir, strings.TrimSpace(line))
		}
	}
	if found < 10 {
		t.Errorf("%d commands were found", found)
	}
}

// testsOf returns the number of tests in a folder with matching names, and one that runs with -long only,
// "" if there is none.
func testsOf(t *testing.T, dir string, names *regexp.Regexp) (n int, long string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || !strings.HasPrefix(f.Name.Name, "Test") || !names.MatchString(f.Name.Name) {
				continue
			}
			n++
			if strings.Contains(string(source[f.Pos()-1:f.End()-1]), "long.Only(") {
				long = f.Name.Name
			}
		}
	}
	return n, long
}
