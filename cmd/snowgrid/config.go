package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
)

type configCommand struct {
	Check     configCheckCommand     `cmd:"" help:"Check a configuration file, without starting a member."`
	Print     configPrintCommand     `cmd:"" help:"Print each key with its value and where it was set."`
	Reference configReferenceCommand `cmd:"" help:"Print the page with all keys, as Markdown."`
}

type configCheckCommand struct {
	File configPath `arg:"" optional:"" help:"Configuration file, in place of --config." placeholder:"FILE"`
	fileFlag
	agentFlags
	outputFlag
}

// AfterApply takes the file of --config or SNOWGRID_CONFIG.
func (c *configCheckCommand) AfterApply(s *sources) error {
	if c.File == "" {
		c.File = c.Config
	}
	switch from := s.origins["config"]; {
	case c.File == "":
		return errors.New("give a configuration file: snowgrid config check FILE")
	case from.source == fromFlag && c.File != c.Config:
		return badValue("config", string(c.Config), "the argument names %s; give one file", c.File)
	}
	return nil
}

// check returns the agent's configuration, or the error that its start would return. It starts
// nothing and opens no store.
func (a *agentFlags) check(s *sources) (grid.Config, error) {
	trial := *a
	trial.open = func(string) (store.Store, error) { return store.NewMemory(), nil }
	cfg, err := trial.config(slog.New(slog.DiscardHandler))
	return cfg, s.place(errors.Join(err, trial.checkUse(s)))
}

type configPrintCommand struct {
	fileFlag
	agentFlags
	clientFlags
	callerFlags
	Output string `short:"o" help:"Output format: text, json or yaml." enum:"text,json,yaml" default:"text"`
}

type setting struct {
	Key    string `json:"key" yaml:"key"`
	Value  string `json:"value" yaml:"value"`
	Source source `json:"source" yaml:"source"`
	Origin string `json:"origin" yaml:"origin"`
}

func (c *configPrintCommand) Run(ctx *kong.Context, s *sources, to streams) error {
	return printSettings(to.out, c.Output, settingsOf(ctx, s))
}

// settingsOf returns a command's keys with their values, secrets masked, and origins.
func settingsOf(ctx *kong.Context, s *sources) []setting {
	var out []setting
	for _, flag := range ctx.Selected().Flags {
		k, known := s.key(flag.Name)
		if !known {
			continue
		}
		from := s.origin(k)
		value := k.shown(flag)
		if from.source == fromDefault && flag.HasDefault {
			value = flag.Default
		}
		out = append(out, setting{Key: k.name, Value: value, Source: from.source, Origin: from.String()})
	}
	return out
}

func printSettings(w io.Writer, format string, settings []setting) error {
	if format == "yaml" {
		return yaml.NewEncoder(w).Encode(settings)
	}
	return outputFlag{format}.result(w, settings, func(w io.Writer) {
		fmt.Fprintln(w, "KEY\tVALUE\tORIGIN")
		for _, s := range settings {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, s.Value, s.Origin)
		}
	})
}

const hiddenValue = "(secret)"

// shown returns the key's printed value. A secret is masked; a default chosen at startup is in
// parentheses.
func (k key) shown(flag *kong.Flag) string {
	value := k.value(flag)
	switch {
	case value == "":
		return "(" + k.defaultText() + ")"
	case k.secret:
		return hiddenValue
	}
	return value
}

// defaultSentence matches the sentence about the default in a flag's help.
var defaultSentence = regexp.MustCompile(`\s*(?:Default: |By default )(.+?)\.?$`)

// defaultText returns the key's default in words.
func (k key) defaultText() string {
	if k.flag.HasDefault && k.flag.Default != "" {
		return k.flag.Default
	}
	if parts := defaultSentence.FindStringSubmatch(k.flag.Help); parts != nil {
		return parts[1]
	}
	if k.kind() == "true or false" {
		return "false"
	}
	return "none"
}

func names(keys []key) []string {
	var out []string
	for _, k := range keys {
		out = append(out, k.name)
	}
	return out
}

func markdownCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
