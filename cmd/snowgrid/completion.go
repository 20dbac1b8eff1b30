package main

import (
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" help:"Shell: bash, zsh or fish." enum:"bash,zsh,fish" placeholder:"bash|zsh|fish"`
}

// The scripts call snowgrid __complete with the words up to the cursor.
var (
	//go:embed completion.bash
	bashCompletion string
	//go:embed completion.zsh
	zshCompletion string
	//go:embed completion.fish
	fishCompletion string
)

func (c *completionCommand) Run(to streams) error {
	script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	_, err := fmt.Fprint(to.out, script)
	return err
}

// completeCommand prints the words that may stand in place of the last one. A shell that gets none
// completes file names.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

func (c *completeCommand) Run(ctx *kong.Context, to streams) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, word := range completions(ctx.Model.Node, words) {
		if _, err := fmt.Fprintln(to.out, word); err != nil {
			return err
		}
	}
	return nil
}

// completions returns the words that begin with the last one and may stand in its place.
func completions(node *kong.Node, words []string) []string {
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
			if next := child(node, word); next != nil {
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
		all = choicesOf(flag.Value)
		last = strings.TrimPrefix(last, "=")
	case hasValue && strings.HasPrefix(name, "--"):
		if f := valueFlag(node, name); f != nil {
			for _, v := range choicesOf(f.Value) {
				all = append(all, name+"="+v)
			}
		}
		last = name + "=" + value
	case strings.HasPrefix(last, "-"):
		all = flagsOf(node)
	default:
		all = commandsOf(node)
		if node.Name == "man" {
			all = append(all, commandsOf(root)...)
		}
		if arguments < len(node.Positional) {
			all = append(all, choicesOf(node.Positional[arguments])...)
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

func flagsOf(node *kong.Node) (all []string) {
	for _, flag := range slices.Concat(node.AllFlags(true)...) {
		all = append(all, "--"+flag.Name)
	}
	return all
}

func commandsOf(node *kong.Node) (all []string) {
	for _, c := range node.Children {
		if !c.Hidden {
			all = append(all, c.Name)
		}
	}
	return all
}

// choicesOf returns the values of a flag or argument that has a few.
func choicesOf(value *kong.Value) []string {
	if value.Enum != "" {
		return slices.DeleteFunc(value.EnumSlice(), func(word string) bool { return word == "" })
	}
	if value.Target.Type() == reflect.TypeFor[contextName]() {
		if dir, err := openContexts(); err == nil {
			names, _ := dir.names()
			return names
		}
	}
	return nil
}
