package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/kongdocs"
)

// TestGrammar: a command has the same help, flags and keys whether kong builds it alone or all commands.
func TestGrammar(t *testing.T) {
	t.Parallel()
	whole, err := newParser(&commands{}, newSources(), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	alone := 0
	for _, node := range whole.Model.Children {
		into := grammar([]string{node.Name})
		parser, err := newParser(into, newSources(), kong.Writers(io.Discard, io.Discard))
		if err != nil {
			t.Fatal(err)
		}
		if len(parser.Model.Children) == len(whole.Model.Children) {
			continue // it uses all commands
		}
		if got, want := treeOf(kongdocs.Child(parser.Model.Node, node.Name)), treeOf(node); got != want {
			t.Errorf("%s alone has\n%s\nwith all commands it has\n%s", node.Name, got, want)
		}
		if got, want := names(keysOf(parser.Model)), names(keysOf(whole.Model)); !slices.Equal(got, want) {
			t.Errorf("%s alone has the keys\n%v\nwith all commands it has\n%v", node.Name, got, want)
		}
		alone++
	}
	if alone < len(whole.Model.Children)/2 {
		t.Errorf("%d of %d commands are built alone", alone, len(whole.Model.Children))
	}
	for _, words := range [][]string{nil, {"--help"}, {"nxet"}, {"__complete"}, {"man"}, {"agent"}} {
		if _, all := grammar(words).(*commands); !all {
			t.Errorf("%v: it has not all commands", words)
		}
	}
}

// treeOf returns a command and all commands below it, with their flags, arguments and help, a line each.
func treeOf(node *kong.Node) string {
	if node == nil {
		return "nothing"
	}
	var out strings.Builder
	out.WriteString(node.Path() + " " + node.Help + node.Detail + "\n")
	for _, flag := range node.Flags {
		out.WriteString(flag.String() + " " + flag.Help + " " + flag.Default + "\n")
	}
	for _, arg := range node.Positional {
		out.WriteString(arg.Summary() + " " + arg.Help + "\n")
	}
	for _, below := range node.Children {
		out.WriteString(treeOf(below))
	}
	return out.String()
}
