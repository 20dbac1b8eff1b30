package main

import (
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
	docCommand = regexp.MustCompile(
		"(?m)(?:^ {4,}|`|\\$ |\\(|\\| xargs )snowgrid ((?:[a-z][a-z-]* ?)+[^`#\n]*(?:\\\\\n[^`#\n]*)*)")
	inProse = regexp.MustCompile(`^(of|v\d.*)$`)
	docFlag = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
)

// docPages returns the texts of the pages, by their names.
func docPages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, path := range append(paths, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[strings.TrimPrefix(path, "../../")] = string(text)
	}
	return pages
}

// TestDocumentedCommands: the commands in the pages exist, and have the flags that the pages give them.
func TestDocumentedCommands(t *testing.T) {
	parser, err := newParser(&commands{}, &sources{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for page, text := range docPages(t) {
		for _, match := range docCommand.FindAllStringSubmatch(text, -1) {
			found++
			for _, problem := range unknownIn(parser.Model.Node, match[1]) {
				t.Errorf("%s: snowgrid %.80s: %s", page, match[1], problem)
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d commands were found", found)
	}
	if got := unknownIn(parser.Model.Node, "status --no-such-flag"); len(got) != 1 {
		t.Errorf("a flag that does not exist: %q", got)
	}
	if got := unknownIn(parser.Model.Node, "frobnicate"); len(got) != 1 {
		t.Errorf("a command that does not exist: %q", got)
	}
}

// TestEveryCommandIsDocumented: a page names each command, and the keys' page each flag of an agent. The
// flags of each command are in its manual page: see TestManPages.
func TestEveryCommandIsDocumented(t *testing.T) {
	parser, err := newParser(&commands{}, &sources{})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(slices.Collect(maps.Values(docPages(t))), "\n")
	for _, leaf := range parser.Model.Leaves(true) {
		if leaf.Parent.DefaultCmd == leaf {
			leaf = leaf.Parent
		}
		name := strings.TrimPrefix(leaf.FullPath(), "snowgrid ")
		if !regexp.MustCompile("(`|snowgrid )" + name + "[` \n]").MatchString(all) {
			t.Errorf("no page names snowgrid %s", name)
		}
	}
}

// unknownIn returns what a command line names that the program does not have.
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
		return []string{"there is no such command"}
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
