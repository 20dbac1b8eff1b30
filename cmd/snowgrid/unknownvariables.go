package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// typo is an environment variable without effect, and a similar existing one.
type typo struct{ variable, meant string }

// typosIn returns environment variables that no flag takes and that differ in one or two letters from
// one that a flag takes. Other variables starting with SNOWGRID_ are not mistakes: Kubernetes sets
// them for a service named snowgrid.
func typosIn(environ []string, app *kong.Application) []typo {
	var known []string
	_ = kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, is := node.(*kong.Flag); is {
			for _, name := range flag.Envs {
				known = append(known, name, name+"_FILE")
			}
		}
		return next(nil)
	})
	var out []typo
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) || len(name) > 100 {
			continue
		}
		nearest := slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
		if distance(name, nearest) <= 2 {
			out = append(out, typo{variable: name, meant: nearest})
		}
	}
	return out
}
