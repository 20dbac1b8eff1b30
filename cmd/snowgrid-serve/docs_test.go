package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/kongtest"
)

// programGrammar returns the grammar of the program.
func programGrammar(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := kong.New(&commands{}, kong.Name("snowgrid-serve"))
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

// TestDocumentedCommands: the commands in the pages exist, and have the flags that the pages give them.
func TestDocumentedCommands(t *testing.T) { kongtest.Documented(t, programGrammar(t), 8) }

// TestEveryCommandIsDocumented: a page names each command, and the sidecar's page lists exactly the flags.
func TestEveryCommandIsDocumented(t *testing.T) {
	kongtest.EveryCommand(t, programGrammar(t))
	kongtest.Flags(t, programGrammar(t), "../../docs/sidecar.md")
}

// TestManPages: each command has a page with each of its flags.
func TestManPages(t *testing.T) {
	if number := kongtest.ManPages(t, programGrammar(t), command); number < 9 {
		t.Errorf("%d pages", number)
	}
	_, page, _ := command(t, "man", "serve")
	for _, part := range []string{".TH SNOWGRID-SERVE-SERVE 1 \"\"", ".B snowgrid\\-serve\nserve [flags]\n",
		"SNOWGRID_HTTP_ADDR", ".SH EXIT STATUS\n0 done"} {
		if !strings.Contains(page, part) {
			t.Errorf("snowgrid-serve man serve lacks %q:\n%s", part, page)
		}
	}
	status, _, stderr := command(t, "man", "frobnicate")
	if status != exitUsage || !strings.Contains(stderr, "no command") {
		t.Errorf("a command that does not exist: %d %s", status, stderr)
	}
}

// TestHelpWidth: --help fits a terminal of 80 columns.
func TestHelpWidth(t *testing.T) { kongtest.HelpWidth(t, programGrammar(t), command) }

// TestCompletions: the commands, the flags of one, and the values of a flag are completed.
func TestCompletions(t *testing.T) {
	for line, want := range map[string]string{
		"sta": "status", "serve --http": "--http-addr", "status -o ": "text json", "man rep": "repair",
		"serve --log-format=j": "--log-format=json", "completion z": "zsh", "__com": "", "serve --store ": "",
	} {
		words := strings.Fields(line)
		if strings.HasSuffix(line, " ") {
			words = append(words, "")
		}
		status, stdout, stderr := command(t, append([]string{"__complete", "--"}, words...)...)
		if got := strings.Join(strings.Fields(stdout), " "); status != exitDone || got != want {
			t.Errorf("%q: %q, want %q; status %d %s", line, got, want, status, stderr)
		}
	}
}

// TestCompletionScripts runs the script of each shell that is installed.
func TestCompletionScripts(t *testing.T) {
	if name := filepath.Base(binary); name != "snowgrid-serve" {
		t.Fatalf("the program is %s", name)
	}
	kongtest.CompletionScripts(t, binary, "man", "rep", "repair")
}
