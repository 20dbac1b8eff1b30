package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// settingsCommand has the commands about the settings that the members have agreed on.
type settingsCommand struct {
	Show settingsShowCommand `cmd:"" default:"withargs" help:"Show the settings of the grid."`
	Set  settingsSetCommand  `cmd:"" help:"Change settings of the grid, while it runs."`
}

type settingsShowCommand struct{ gridOutput }

func (c *settingsShowCommand) Run(ctx context.Context, to streams) error {
	out, err := c.settings(ctx, wire.SettingsRequest{})
	if err != nil {
		return asking(err)
	}
	return c.result(to.out, out, func(w io.Writer) { printGridSettings(w, out) })
}

// settings requests the settings, and changes those in the request.
func (g gridFlags) settings(ctx context.Context, in wire.SettingsRequest) (out wire.SettingsResponse, err error) {
	err = g.request(ctx, wire.PathSettings, in, &out)
	return out, err
}

func printGridSettings(w io.Writer, s wire.SettingsResponse) {
	fmt.Fprintf(w, "name\t%s\npartitions\t%d\nbackups\t%d\nwindow\t%v\nvoters\t%d\nexpect\t%d\n", s.Name,
		s.Partitions, s.Backups, s.Window.Duration(), s.Voters, s.Expect)
}

type settingsSetCommand struct {
	Assignments  []string `arg:"" name:"setting" help:"New values: backups=N, window=DURATION, voters=N, expect=N."`
	WindowStated bool     `help:"Confirm that the configuration of every member has the new window. Needed in a grid with neither data directories nor an anchor."`
	gridOutput
}

func (c *settingsSetCommand) Run(ctx context.Context, to streams) error {
	in, err := parseAssignments(c.Assignments)
	if err != nil {
		return usage(err)
	}
	in.WindowStated = c.WindowStated
	out, err := c.settings(ctx, in)
	if err != nil {
		return err
	}
	return c.result(to.out, out, func(w io.Writer) {
		printGridSettings(w, out)
		stated := slices.DeleteFunc(slices.Clone(c.Assignments),
			func(s string) bool { return strings.HasPrefix(s, "expect=") }) // a member may state another number
		if len(stated) > 0 {
			fmt.Fprintf(w, "A member whose configuration states another value than %s does not start: change it there.\n",
				strings.Join(stated, " "))
		}
	})
}

// changeable lists the settings that a running grid can change.
var changeable = []string{"backups", "window", "voters", "expect"}

// parseAssignments parses backups=2 window=30s.
func parseAssignments(assignments []string) (in wire.SettingsRequest, err error) {
	seen := map[string]bool{}
	for _, text := range assignments {
		name, value, found := strings.Cut(text, "=")
		switch {
		case !found || value == "":
			return in, fmt.Errorf("%.80q: give NAME=VALUE, such as backups=2", text)
		case seen[name]:
			return in, fmt.Errorf("%s is given twice; give one value", name)
		case name == "name", name == "partitions":
			return in, fmt.Errorf("%s is fixed when the grid is formed; a running grid can change %s", name, orList(changeable))
		case !slices.Contains(changeable, name):
			return in, fmt.Errorf("%.40q is not a grid setting; %s", name,
				suggest(name, changeable, "a running grid can change "+orList(changeable)))
		}
		seen[name] = true
		if err := assign(&in, name, value); err != nil {
			return in, err
		}
	}
	return in, nil
}

func assign(in *wire.SettingsRequest, name, value string) error {
	if name == "window" {
		d, err := time.ParseDuration(value)
		if least, most := roster.MinWindow.Duration(), roster.MaxWindow.Duration(); err != nil || d < least || d > most ||
			d%time.Millisecond != 0 {
			return fmt.Errorf("window=%.40s: give a duration with its unit, such as 30s: %v to %v in whole milliseconds", value,
				least, most)
		}
		in.Window = clustertime.SpanOf(d)
		return nil
	}
	n, err := strconv.Atoi(value)
	switch {
	case name == "backups" && (err != nil || n < 0 || n > roster.MaxBackups):
		return fmt.Errorf("backups=%.40s: give 0 for none, or 1 to %d", value, roster.MaxBackups)
	case name == "voters" && (err != nil || n < 1 || n > roster.MaxVoters || n%2 == 0):
		return fmt.Errorf("voters=%.40s: give 1, 3, 5 or 7", value)
	case name == "expect" && (err != nil || n < 1 || n > roster.MaxExpect):
		return fmt.Errorf("expect=%.40s: give 1 to %d", value, roster.MaxExpect)
	case name == "backups":
		in.Backups = &n
	case name == "expect":
		in.Expect = n
	default:
		in.Voters = n
	}
	return nil
}
