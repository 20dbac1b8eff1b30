package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestManPages: each command has a page with each of its flags, examples as they are typed, and no date.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if status, _, stderr := runCommand(t, "man", "--out", dir); status != 0 {
		t.Fatal(stderr)
	}
	parser, err := newParser(&commands{}, newSources(), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	err = kong.Visit(parser.Model, func(visited kong.Visitable, next kong.Next) error {
		node := (*kong.Node)(nil)
		switch v := visited.(type) {
		case *kong.Application:
			node = v.Node
		case *kong.Node:
			node = v
		}
		if node == nil || node.Hidden {
			return next(nil)
		}
		pages++
		page, err := os.ReadFile(filepath.Join(dir, manName(node)+".1"))
		if err != nil {
			t.Error(err)
			return next(nil)
		}
		for _, flag := range node.Flags {
			if !bytes.Contains(page, []byte(roff("--"+flag.Name))) {
				t.Errorf("the page of %s lacks --%s", node.FullPath(), flag.Name)
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != pages || pages < 50 {
		t.Errorf("%d pages of %d commands, %v", len(files), pages, err)
	}
	_, page, _ := runCommand(t, "man", "next")
	for _, part := range []string{".TH SNOWGRID-NEXT 1 \"\"", ".B snowgrid\nnext <name> [flags]\n",
		"\n.nf\nsnowgrid next orders", "SNOWGRID_ADDR"} {
		if !strings.Contains(page, part) {
			t.Errorf("snowgrid man next lacks %q:\n%s", part, page)
		}
	}
	status, _, stderr := runCommand(t, "man", "frobnicate")
	if status != exitUsage || !strings.Contains(stderr, "no command") {
		t.Errorf("a command that does not exist: %d %s", status, stderr)
	}
}

// TestManPagesFormat formats the pages with all warnings.
func TestManPagesFormat(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	dir := t.TempDir()
	if status, _, stderr := runCommand(t, "man", "--out", dir); status != 0 {
		t.Fatal(stderr)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) == 0 {
		t.Fatal(err)
	}
	var warnings bytes.Buffer
	//nolint:gosec // a program of this machine
	cmd := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-ww", "-z", "-Tutf8"}, pages...)...)
	cmd.Stderr = &warnings
	if err := cmd.Run(); err != nil || warnings.Len() > 0 {
		t.Errorf("%v: %s", err, warnings.String())
	}
}

// TestHelpWidth: --help fits a terminal of 80 columns, but for the line of usage, which is not broken.
func TestHelpWidth(t *testing.T) {
	parser, err := newParser(&commands{}, newSources(), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range append(parser.Model.Leaves(true), parser.Model.Node) {
		args := append(strings.Fields(strings.TrimPrefix(leaf.FullPath(), "snowgrid")), "--help")
		_, stdout, _ := runCommand(t, args...)
		for line := range strings.Lines(stdout) {
			if line = strings.TrimRight(line, "\n"); len([]rune(line)) > 80 && !strings.HasPrefix(line, "Usage: ") {
				t.Errorf("snowgrid %s: %d columns: %s", strings.Join(args, " "), len([]rune(line)), line)
			}
		}
	}
}
