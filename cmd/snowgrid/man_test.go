package main

import (
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
func TestHelpWidth(t *testing.T) { kongtest.HelpWidth(t, programGrammar(t), runCommand) }
