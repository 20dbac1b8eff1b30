// Package kongdocs prints a program's grammar for shells and readers: as completions and as manual pages.
package kongdocs

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Program completes a grammar for the pages and the shells. A program binds it by [kong.Bind].
type Program struct {
	Exit   string                     // the meanings of the exit statuses
	Values func(*kong.Value) []string // the values of a flag or argument without an enum; nil for none
}

// Completion is the command that prints a completion script.
type Completion struct {
	Shell string `arg:"" help:"Shell: bash, zsh or fish." enum:"bash,zsh,fish" placeholder:"bash|zsh|fish"`
}

// The scripts call snowgrid, or the program in its place, with __complete and the words up to the cursor.
var (
	//go:embed completion.bash
	bashCompletion string
	//go:embed completion.zsh
	zshCompletion string
	//go:embed completion.fish
	fishCompletion string
)

// Run prints the script.
func (c *Completion) Run(ctx *kong.Context) error {
	script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	_, err := fmt.Fprint(ctx.Stdout, strings.ReplaceAll(script, "snowgrid", ctx.Model.Name))
	return err
}

// Complete is the command __complete. It prints the words that may stand in place of the last one. A shell that gets
// none completes file names.
type Complete struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints the words.
func (c *Complete) Run(ctx *kong.Context, program Program) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, word := range program.completions(ctx.Model.Node, words) {
		if _, err := fmt.Fprintln(ctx.Stdout, word); err != nil {
			return err
		}
	}
	return nil
}

// completions returns the words that begin with the last one and may stand in its place.
func (p Program) completions(node *kong.Node, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	root, last := node, words[len(words)-1]
	flag := (*kong.Flag)(nil) // whose value the next word is
	arguments := 0            // before the last word
	for _, word := range words[:len(words)-1] {
		switch {
		case word == "=": // bash splits --flag=value
		case flag != nil:
			flag = nil
		case strings.HasPrefix(word, "-"):
			flag = valueFlag(node, word)
		default:
			if next := Child(node, word); next != nil {
				node = next
			} else {
				arguments++
			}
		}
	}
	var all []string
	name, value, hasValue := strings.Cut(last, "=")
	switch {
	case flag != nil:
		all = p.choicesOf(flag.Value)
		last = strings.TrimPrefix(last, "=")
	case hasValue && strings.HasPrefix(name, "--"):
		if f := valueFlag(node, name); f != nil {
			for _, v := range p.choicesOf(f.Value) {
				all = append(all, name+"="+v)
			}
		}
		last = name + "=" + value
	case strings.HasPrefix(last, "-"):
		for _, f := range slices.Concat(node.AllFlags(true)...) {
			all = append(all, "--"+f.Name)
		}
	default:
		all = CommandsOf(node)
		if node.Name == "man" {
			all = append(all, CommandsOf(root)...)
		}
		if arguments < len(node.Positional) {
			all = append(all, p.choicesOf(node.Positional[arguments])...)
		}
	}
	return slices.DeleteFunc(all, func(word string) bool { return !strings.HasPrefix(word, last) })
}

// valueFlag returns the flag that a word names if its value is the next word, else nil.
func valueFlag(node *kong.Node, word string) *kong.Flag {
	for _, flag := range slices.Concat(node.AllFlags(true)...) {
		if (word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short)) && !flag.IsBool() {
			return flag
		}
	}
	return nil
}

// Child returns the command of a name below a node, nil if there is none.
func Child(node *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return node.Children[i]
}

// CommandsOf returns the names of the commands below a node.
func CommandsOf(node *kong.Node) (all []string) {
	for _, c := range node.Children {
		if !c.Hidden {
			all = append(all, c.Name)
		}
	}
	return all
}

// choicesOf returns the values of a flag or argument that has a few.
func (p Program) choicesOf(value *kong.Value) []string {
	if value.Enum != "" {
		return slices.DeleteFunc(value.EnumSlice(), func(word string) bool { return word == "" })
	}
	if p.Values != nil {
		return p.Values(value)
	}
	return nil
}
