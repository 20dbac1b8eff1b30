package kongtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/kongdocs"
)

// Run runs a command of the program in the test's process.
type Run func(t *testing.T, args ...string) (status int, stdout, stderr string)

// ManPages checks that each command has a page with each of its flags, and that groff formats all without a warning.
// It returns their number.
func ManPages(t *testing.T, program *kong.Application, run Run) int {
	t.Helper()
	dir, number := t.TempDir(), 0
	if status, _, stderr := run(t, "man", "--out", dir); status != 0 {
		t.Fatal(stderr)
	}
	err := kong.Visit(program, func(visited kong.Visitable, next kong.Next) error {
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
		number++
		page, err := os.ReadFile(filepath.Join(dir, kongdocs.PageName(node)+".1"))
		if err != nil {
			t.Error(err)
			return next(nil)
		}
		for _, flag := range node.Flags {
			if !bytes.Contains(page, []byte(kongdocs.Roff("--"+flag.Name))) {
				t.Errorf("the page of %s lacks --%s", node.FullPath(), flag.Name)
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(files) != number {
		t.Errorf("%d pages of %d commands, %v", len(files), number, err)
	}
	t.Run("format", func(t *testing.T) { format(t, files) })
	return number
}

// format formats pages with all warnings.
func format(t *testing.T, pages []string) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	var warnings bytes.Buffer
	//nolint:gosec // a program of this machine
	cmd := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-ww", "-z", "-Tutf8"}, pages...)...)
	cmd.Stderr = &warnings
	if err := cmd.Run(); err != nil || warnings.Len() > 0 {
		t.Errorf("%v: %s", err, warnings.String())
	}
}

// HelpWidth checks that --help of each command fits a terminal of 80 columns, but for the line of usage, which is not
// broken.
func HelpWidth(t *testing.T, program *kong.Application, run Run) {
	t.Helper()
	for _, leaf := range append(program.Leaves(true), program.Node) {
		args := append(strings.Fields(strings.TrimPrefix(leaf.FullPath(), program.Name)), "--help")
		_, stdout, _ := run(t, args...)
		for line := range strings.Lines(stdout) {
			if line = strings.TrimRight(line, "\n"); len([]rune(line)) > 80 && !strings.HasPrefix(line, "Usage: ") {
				t.Errorf("%s %s: %d columns: %s", program.Name, strings.Join(args, " "), len([]rune(line)), line)
			}
		}
	}
}

// CompletionScripts runs the script of each shell that is installed with the program at a path, and checks that it
// completes a line of two words to the only third one.
func CompletionScripts(t *testing.T, path, first, second, want string) {
	t.Helper()
	name, dir := filepath.Base(path), filepath.Dir(path)
	words := strings.NewReplacer("{program}", name, "{words}", name+" "+first+" "+second)
	for shell, script := range map[string]string{
		"bash": `source <({program} completion bash)
COMP_WORDS=({words}); COMP_CWORD=2; _{program}; echo "${COMPREPLY[@]}"`,
		"zsh": `autoload -Uz compinit; compinit -u -D; source <({program} completion zsh); words=({words}); CURRENT=3
compadd() { print -- ${(P)2}; }; _{program}`,
		"fish": `{program} completion fish | source; complete -C '{words}'`,
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s is not installed", shell)
			}
			cmd := exec.CommandContext(t.Context(), path, "-c", words.Replace(script)) //nolint:gosec // a shell
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
			if _, err := cmd.StdinPipe(); err != nil { // open until the end: a wrapped test ends with its input
				t.Fatal(err)
			}
			out, err := cmd.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != want {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
