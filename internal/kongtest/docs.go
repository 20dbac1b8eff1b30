// Package kongtest checks a program's output for shells and readers, and the commands in its pages.
package kongtest

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var (
	inProse = regexp.MustCompile(`^(of|v\d.*)$`)
	docFlag = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
)

// pages returns the texts of the pages, by their names, for the test of a command two directories below the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, path := range append(paths, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimPrefix(path, "../../")] = string(text)
	}
	return texts
}

// Documented checks that the pages name at least so many commands of a program, all of which exist and have the flags
// that the pages give them.
func Documented(t *testing.T, program *kong.Application, least int) {
	t.Helper()
	call := regexp.MustCompile("(?m)(?:^ {4,}|`|\\$ |\\(|\\| xargs )" + program.Name +
		" ((?:[a-z][a-z-]* ?)+[^`#\n]*(?:\\\\\n[^`#\n]*)*)")
	found := 0
	for page, text := range pages(t) {
		for _, match := range call.FindAllStringSubmatch(text, -1) {
			found++
			for _, problem := range unknownIn(program.Node, match[1]) {
				t.Errorf("%s: %s %.80s: %s", page, program.Name, match[1], problem)
			}
		}
	}
	if found < least {
		t.Errorf("only %d commands were found", found)
	}
	if got := unknownIn(program.Node, "status --no-such-flag"); len(got) != 1 {
		t.Errorf("a flag that does not exist: %q", got)
	}
	if got := unknownIn(program.Node, "frobnicate"); len(got) != 1 {
		t.Errorf("a command that does not exist: %q", got)
	}
}

// EveryCommand checks that a page names each command.
func EveryCommand(t *testing.T, program *kong.Application) {
	t.Helper()
	all := strings.Join(slices.Collect(maps.Values(pages(t))), "\n")
	for _, leaf := range program.Leaves(true) {
		if leaf.Parent.DefaultCmd == leaf {
			leaf = leaf.Parent
		}
		name := strings.TrimPrefix(leaf.FullPath(), program.Name+" ")
		if !regexp.MustCompile("(`|" + program.Name + " )" + name + "[` \n]").MatchString(all) {
			t.Errorf("no page names %s %s", program.Name, name)
		}
	}
}

var update = flag.Bool("update-flags", false, "write the table of flags into its page")

// flagTables matches the table of flags in a page.
var flagTables = regexp.MustCompile(`(?s)<!-- flags: generated -->\n.*?<!-- end -->`)

// Flags checks the table of flags in a page against the program. With the flag -update-flags it writes the table.
func Flags(t *testing.T, program *kong.Application, page string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := "<!-- flags: generated -->\n" + flagTable(program) + "<!-- end -->"
	got := string(flagTables.Find(text))
	if *update && got != "" {
		if err := os.WriteFile(page, bytes.Replace(text, []byte(got), []byte(want), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s: the table of flags is\n%s\nwant\n%s\nRun the test with -update-flags", page, got, want)
	}
}

// flagTable returns a row for each flag, but --help, with the commands that have it and with their default.
func flagTable(program *kong.Application) string {
	commands, rows, names := map[string][]string{}, map[string]string{}, []string(nil)
	for _, leaf := range program.Leaves(true) {
		for _, flag := range slices.Concat(leaf.AllFlags(true)...) {
			if flag.Name == "help" {
				continue
			}
			if len(commands[flag.Name]) == 0 {
				names = append(names, flag.Name)
			}
			commands[flag.Name] = append(commands[flag.Name], leaf.Name)
			rows[flag.Name] = "| " + strings.ReplaceAll(flag.Default, "|", `\|`) + " | " +
				strings.ReplaceAll(flag.Help, "|", `\|`) + " |\n"
		}
	}
	var out strings.Builder
	out.WriteString("| Flag | Commands | Default | Meaning |\n|---|---|---|---|\n")
	for _, name := range names {
		where := strings.Join(commands[name], ", ")
		if len(commands[name]) == len(program.Leaves(true)) {
			where = "all"
		}
		out.WriteString("| `--" + name + "` | " + where + " " + rows[name])
	}
	return out.String()
}

// unknownIn returns the commands and flags of a command line that the program lacks.
func unknownIn(node *kong.Node, line string) (problems []string) {
	words := strings.Fields(line)
	for len(words) > 0 {
		i := slices.IndexFunc(node.Children, func(child *kong.Node) bool {
			return child.Name == words[0] || slices.Contains(child.Aliases, words[0])
		})
		if i < 0 {
			break
		}
		node, words = node.Children[i], words[1:]
	}
	if node.Parent == nil && len(words) > 0 && inProse.MatchString(words[0]) {
		return nil // "snowgrid v2.0.0", "snowgrid of an unknown build"
	}
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	if node.Parent == nil {
		return []string{"the command is unknown"}
	}
	line, _, _ = strings.Cut(strings.Join(words, " "), " | ")
	for _, match := range docFlag.FindAllStringSubmatch(line, -1) {
		known := slices.ContainsFunc(slices.Concat(node.AllFlags(false)...), func(flag *kong.Flag) bool {
			return flag.Name == match[1] || slices.Contains(flag.Aliases, match[1])
		})
		if !known {
			problems = append(problems, "there is no flag --"+match[1])
		}
	}
	return problems
}
