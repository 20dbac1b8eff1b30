package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/kongtest"
)

// TestManPages: each command has a page with each of its flags, examples as they are typed, and no date.
func TestManPages(t *testing.T) {
	t.Parallel()
	if number := kongtest.ManPages(t, programGrammar(t), runCommand); number < 50 {
		t.Errorf("%d pages", number)
	}
	_, page, _ := runCommand(t, "man", "next")
	for _, part := range []string{".TH SNOWGRID-NEXT 1 \"\"", ".B snowgrid\nnext <name> [flags]\n",
		"\n.nf\nsnowgrid next orders", "SNOWGRID_ADDR", ".SH EXIT STATUS\n0 done"} {
		if !strings.Contains(page, part) {
			t.Errorf("snowgrid man next lacks %q:\n%s", part, page)
		}
	}
	status, _, stderr := runCommand(t, "man", "frobnicate")
	if status != exitUsage || !strings.Contains(stderr, "no command") {
		t.Errorf("a command that does not exist: %d %s", status, stderr)
	}
}

// TestHelpWidth: --help fits a terminal of 80 columns.
// TestManPagesWithoutADirectory: a directory that cannot be written is one error, and not one for each page.
func TestManPagesWithoutADirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(dir, "full")
	if err := os.MkdirAll(filepath.Join(full, "snowgrid.1"), 0o700); err != nil { // no page takes its place
		t.Fatal(err)
	}
	for _, out := range []string{file, full} {
		status, stdout, stderr := runCommand(t, "man", "--out="+out)
		if want := "snowgrid: --out=" + out; status != exitFailed || stdout != "" || !strings.HasPrefix(stderr, want) ||
			!strings.HasSuffix(stderr, "; give a directory that can be written\n") || strings.Count(stderr, ";") != 1 {
			t.Errorf("status %d, stdout %q, stderr %q, want %q", status, stdout, stderr, want)
		}
	}
}

func TestHelpWidth(t *testing.T) { kongtest.HelpWidth(t, programGrammar(t), runCommand) }
