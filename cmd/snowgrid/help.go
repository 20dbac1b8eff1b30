package main

import (
	"embed"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/kongdocs"
)

// helpTexts has the part of commands' --help between the usage and the flags, in files named as the manual pages:
// secure-rotate.txt for snowgrid secure rotate.
//
//go:embed help
var helpTexts embed.FS

// describe gives the commands below a node their texts.
func describe(node *kong.Node) {
	for _, c := range node.Children {
		name := strings.TrimPrefix(kongdocs.PageName(c), "snowgrid-") + ".txt"
		if text, err := helpTexts.ReadFile("help/" + name); err == nil { // some need none
			c.Detail = strings.TrimSuffix(string(text), "\n")
		}
		describe(c)
	}
}
