package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// configReferenceCommand prints docs/configuration-keys.md.
type configReferenceCommand struct{}

// referencePage is the page without the key tables.
//
//go:embed configurationkeys.md.in
var referencePage string

func (configReferenceCommand) Run(ctx *kong.Context, to streams) error {
	keys := keysOf(ctx.Model)
	page := strings.NewReplacer(
		"{{agent}}\n", keyTable(keys, false),
		"{{client}}\n", keyTable(keys, true),
	).Replace(referencePage)
	_, err := fmt.Fprint(to.out, page)
	return err
}

// keyTable returns the key table: the agent's keys, or with client the keys for commands that use a
// grid.
func keyTable(keys []key, client bool) string {
	var out strings.Builder
	out.WriteString("| Key | Variable | Value | Default | Meaning |\n|---|---|---|---|---|\n")
	for _, k := range keys {
		if k.client != client {
			continue
		}
		meaning := defaultSentence.ReplaceAllString(k.flag.Help, "")
		kind := k.kind()
		if k.secret {
			kind += ", secret"
		}
		fmt.Fprintf(&out, "| `%s` | `%s` | %s | %s | %s |\n",
			k.name, k.variable(), markdownCell(kind), markdownCell(k.defaultText()), markdownCell(meaning))
	}
	return out.String()
}
