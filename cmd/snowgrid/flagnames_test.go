package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/kongdocs"
)

// TestTextsNameFlags: a text about a field of grid.Config that can reach an agent's user names the flag after it, as in
// "set DataDir (--data-dir)". An error that begins with the field does not: the agent replaces the field.
func TestTextsNameFlags(t *testing.T) {
	commandLine, err := newParser(&commands{}, newSources())
	if err != nil {
		t.Fatal(err)
	}
	agent := kongdocs.Child(commandLine.Model.Node, "agent")
	names := []string{"Insecure", "Security"}
	for field := range reflect.TypeFor[grid.Config]().Fields() {
		named := func(flag *kong.Flag) bool { return flag.Name == keyOfField(field.Name) }
		if slices.ContainsFunc(agent.Flags, named) {
			names = append(names, field.Name)
		}
	}
	field := `(` + strings.Join(names, "|") + `)\b( \(--[a-z-]+\))?`
	fields := regexp.MustCompile(`(?:[a-z0-9],? |Config\.|Security\.)` + field + `|^` + field + ` is `)
	seen := 0
	for path, text := range textsOf(t, "../../grid", "../../internal") {
		for _, match := range fields.FindAllStringSubmatch(text, -1) {
			seen++
			if match[2]+match[4] == "" {
				t.Errorf("%s: %q is followed by no flag in %q", path, match[1]+match[3], text)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d texts name a field, at least 10 are expected", seen)
	}
}

// TestErrorNamesFlagOnce: in an error that begins with a field, one name takes the place of a field and its flag.
func TestErrorNamesFlagOnce(t *testing.T) {
	_, _, stderr := runCommand(t, "agent", "--insecure", "--expect", "1", "--gossip-addr", "192.0.2.1:7946",
		"--raft-addr", "127.0.0.1:0", "--api-addr", "127.0.0.1:0")
	const want = "snowgrid: --gossip-addr: cannot listen on tcp 192.0.2.1:7946: this machine has no such address: " +
		"listen on one it has and set advertise-host to what others should use: "
	if !strings.Contains(stderr, want) {
		t.Errorf("%s, want %s", stderr, want)
	}
}

// textsOf yields the texts in the programs of directories with their files, except the texts of refusal.Invalid.
func textsOf(t *testing.T, dirs ...string) iter.Seq2[string, string] {
	return func(yield func(path, text string) bool) {
		for _, dir := range dirs {
			err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
					return err
				}
				file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
				if err != nil {
					return err
				}
				ast.Inspect(file, func(n ast.Node) bool {
					text, isText := literal(n)
					return !isRefusal(n) && (!isText || !yield(path, text))
				})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// isRefusal reports whether a node is a call of refusal.Invalid, whose text begins with a field.
func isRefusal(n ast.Node) bool {
	call, is := n.(*ast.CallExpr)
	if !is {
		return false
	}
	name := ""
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	return name == "Invalid" || name == "refuse"
}

// literal returns the text of a string, also of one in parts.
func literal(n ast.Node) (text string, is bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			text, err := strconv.Unquote(n.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		x, isX := literal(n.X)
		y, isY := literal(n.Y)
		return x + y, n.Op == token.ADD && isX && isY
	}
	return "", false
}
