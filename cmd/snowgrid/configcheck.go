package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/configfile"
)

type checked struct {
	File     string    `json:"file"`
	OK       bool      `json:"ok"` // the agent would start with it
	Mistakes []mistake `json:"mistakes"`
	Warnings []string  `json:"warnings"`
}

// mistake is something that the agent refuses. Line and column are 0 for a value that is not
// of the file, or a mistake without a place.
type mistake struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Key     string `json:"key"`
	Value   string `json:"value"`
	Problem string `json:"problem"` // with the remedy
}

func (c *configCheckCommand) Run(ctx *kong.Context, s *sources, to streams) error {
	out := checked{File: string(c.File), Mistakes: []mistake{}, Warnings: []string{}}
	err := c.examine(ctx, s, &out)
	faults := eachOf(err)
	for _, err := range faults {
		out.Mistakes = append(out.Mistakes, mistakeOf(err))
	}
	out.OK = err == nil
	if c.json() || out.OK {
		lines := append(slices.Clone(out.Warnings), out.File+": no errors")
		if err := c.line(to.out, out, "%s", strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	if out.OK {
		return nil
	}
	last := len(faults) - 1
	for _, err := range faults[:last] {
		fmt.Fprintf(to.err, "snowgrid: %s\n", settingText(err))
	}
	return usage(errors.New(settingText(faults[last])))
}

// examine checks each value of the file, then the configuration as a whole.
func (c *configCheckCommand) examine(ctx *kong.Context, s *sources, out *checked) error {
	if s.faults != nil {
		return s.faults
	}
	cfg, err := c.check(s)
	if err != nil {
		return err
	}
	warnings, err := c.securityWarnings(cfg)
	if err != nil {
		return s.place(err)
	}
	out.Warnings = slices.Concat(out.Warnings, warnings)
	for _, note := range s.notes {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s: %s has no effect: %s", c.File, note.Key, note.Reason))
	}
	for _, t := range typosIn(os.Environ(), ctx.Model) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s has no effect; did you mean %s?", t.variable, t.meant))
	}
	return nil
}

// mistakeOf returns an error about the configuration in parts.
func mistakeOf(err error) mistake {
	if fault, is := errors.AsType[*configfile.Error](err); is {
		m := mistake{Line: fault.Line, Column: fault.Column, Key: fault.Key, Value: fault.Value, Problem: fault.Problem}
		if fault.ValueIsHidden {
			m.Value = ""
		}
		return m
	}
	return mistake{Problem: sentence(err)}
}
