package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

type importCommand struct {
	File     string `arg:"" help:"File of snowgrid export; - for standard input."`
	Continue bool   `help:"Continue an import that was interrupted: leave sequencers that exist with the same definition."`

	WindowStated bool `help:"Confirm that the configuration of every member has the larger window of the export. Needed in a grid with neither data directories nor an anchor."`
	gridFlags
}

const (
	importers   = 32               // creates at the same time
	floorWait   = 5 * time.Minute  // the longest wait for the time of an export
	createTries = 30 * time.Second // for one sequencer
)

func (c *importCommand) Run(ctx context.Context, to streams) error {
	file, err := c.read(ctx, to)
	if err != nil {
		return err
	}
	if err := c.check(ctx, file, to); err != nil {
		return err
	}
	restored, err := c.restored(ctx, file)
	if err != nil {
		return err
	}
	if err := c.awaitFloor(ctx, file.header.Until, to); err != nil {
		return err
	}
	for _, part := range []struct {
		what string
		do   func() error
	}{
		{"settings", func() error { return c.importSettings(ctx, file.settings, to) }},
		{"numbers", func() error { return c.importSets(ctx, file.sets) }},
		{"sequencers", func() error { return c.importNames(ctx, file.names, createName, to) }},
		{"destroyed sequencers", func() error { return c.importNames(ctx, file.destroyed, destroyedBut(restored), to) }},
		{"quotas", func() error { return c.importQuotas(ctx, file.quotas) }},
	} {
		if err := part.do(); err != nil {
			return fmt.Errorf("%s: %w; correct the cause and repeat the import with --continue", part.what, err)
		}
	}
	_, err = fmt.Fprintf(to.out, "imported %s, %s and %s of grid %s; IDs begin after %s\n",
		counted(len(file.names), "sequencer"), counted(len(file.sets), "set"), counted(len(file.quotas), "quota"),
		file.header.Grid, moment(file.header.Until))
	return err
}

// read reads the file, until ctx ends: a pipe may not end.
func (c *importCommand) read(ctx context.Context, to streams) (*exportFile, error) {
	type result struct {
		file *exportFile
		err  error
	}
	done := make(chan result, 1)
	go func() {
		file, err := c.readAll(to)
		done <- result{file, err}
	}()
	select {
	case r := <-done:
		return r.file, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: the import was interrupted before the end of the file", c.File)
	}
}

func (c *importCommand) readAll(to streams) (*exportFile, error) {
	from := to.in
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return nil, usage(fmt.Errorf("%s: %s; give a file of snowgrid export", c.File, cause(err)))
		}
		defer func() { _ = file.Close() }()
		from = file
	} else if from == nil {
		from = io.NopCloser(http.NoBody)
	}
	out, err := readExport(from)
	if err != nil {
		if _, is := errors.AsType[*fs.PathError](err); is { // such as of a directory
			err = fmt.Errorf("%s; give a file of snowgrid export", cause(err))
		}
		return nil, usage(fmt.Errorf("%s: %w", c.File, err))
	}
	return out, nil
}

// check refuses an import into a grid that has one of its names.
func (c *importCommand) check(ctx context.Context, file *exportFile, to streams) error {
	status, err := c.awaitReady(ctx)
	switch {
	case err != nil:
		return err
	case status.Grid == file.header.ID:
		return fmt.Errorf("the export is of this grid, %s; form a new grid", status.Name)
	}
	defined, err := c.existing(ctx, false)
	if err != nil {
		return err
	}
	var same, other []string
	for _, e := range slices.Concat(file.names, file.destroyed) {
		switch d, exists := defined[e.Name]; {
		case exists && d != e:
			other = append(other, e.Name)
		case exists:
			same = append(same, e.Name)
		}
	}
	switch {
	case len(other) > 0:
		return fmt.Errorf("grid %s has %s with another definition, %s first; import into a new grid", status.Name,
			counted(len(other), "sequencer"), shown(other[0]))
	case len(same) > 0 && !c.Continue:
		return fmt.Errorf("grid %s has %s of the file, %s first, and may have issued the same IDs; "+
			"import into a new grid, or give --continue if an import into this one was interrupted", status.Name,
			counted(len(same), "sequencer"), shown(same[0]))
	}
	exists := func(e exportedName) bool {
		_, exists := defined[e.Name]
		return exists
	}
	file.names = slices.DeleteFunc(file.names, exists)
	for _, e := range file.destroyed {
		if exists(e) {
			fmt.Fprintf(to.err, "%s exists, and was destroyed in grid %s; destroy it again unless it is used\n",
				shown(e.Name), file.header.Grid)
		}
	}
	file.destroyed = slices.DeleteFunc(file.destroyed, exists)
	file.names, file.destroyed = withoutEnded(file.names, to), withoutEnded(file.destroyed, to)
	return nil
}

// awaitReady returns the status of a grid that is ready, or will be at a time that it states. It waits up to
// the time for a call: a grid that elects its leader is ready a moment later.
func (c *importCommand) awaitReady(ctx context.Context) (grid.Status, error) {
	for end := time.Now().Add(c.Timeout); ; {
		status, err := c.status(ctx)
		switch {
		case err != nil || status.Ready || !status.IDsBegin.IsZero():
			return status, err
		case time.Now().After(end):
			return status, fmt.Errorf("grid %s is not ready: %s", status.Name, reasonOf(status))
		}
		if !signal.Sleep(ctx, waitPause) {
			return status, ctx.Err()
		}
	}
}

// awaitFloor waits until the grid's time is past the exported one. Grants begin at an owner's time, which is
// behind another member's by less than a window, so every ID is above.
func (c *importCommand) awaitFloor(ctx context.Context, until time.Time, to streams) error {
	said := false
	for {
		status, err := c.status(ctx)
		if err != nil {
			return err
		}
		now := status.ClusterTime
		if status.IDsBegin.After(now) {
			now = status.IDsBegin // by a floor
		}
		safe := until.Add(status.Settings.Window.Duration())
		left := safe.Sub(now)
		switch {
		case left <= 0:
			return nil
		case left > floorWait:
			return fmt.Errorf("the export has IDs up to %s, and the time of grid %s is %s; "+
				"repeat the import then, or form a new grid by agents with --floor %s", moment(until), status.Name,
				moment(status.ClusterTime), safe.Add(time.Second).Format(time.RFC3339))
		case !said:
			said = true
			fmt.Fprintf(to.err, "waiting %v, until the grid's time is past the exported IDs\n",
				left.Round(time.Second)+time.Second)
		}
		if !signal.Sleep(ctx, min(left+time.Millisecond, time.Second)) {
			return ctx.Err()
		}
	}
}

func (c *importCommand) importSettings(ctx context.Context, want *exportedSettings, to streams) error {
	if want == nil {
		return nil
	}
	has, err := c.settings(ctx, wire.SettingsRequest{})
	if err != nil {
		return err
	}
	in := wire.SettingsRequest{WindowStated: c.WindowStated}
	var changes []string
	if want.Backups != has.Backups {
		in.Backups = &want.Backups
		changes = append(changes, fmt.Sprintf("backups from %d to %d", has.Backups, want.Backups))
	}
	if window := clustertime.Span(want.Window); window > has.Window {
		in.Window = window
		changes = append(changes, fmt.Sprintf("window from %v to %v", has.Window.Duration(), window.Duration()))
	}
	if want.Voters != has.Voters {
		in.Voters = want.Voters
		changes = append(changes, fmt.Sprintf("voters from %d to %d", has.Voters, want.Voters))
	}
	if want.Expect != 0 && want.Expect != has.Expect {
		in.Expect = want.Expect
		changes = append(changes, fmt.Sprintf("expect from %d to %d", has.Expect, want.Expect))
	}
	if len(changes) == 0 {
		return nil
	}
	if _, err := c.settings(ctx, in); err != nil {
		return err
	}
	for _, change := range changes {
		fmt.Fprintf(to.err, "changed %s; change it in the configuration of members that state it\n", change)
	}
	return nil
}

// importSets restores the numbers of processes. A number that a set has stays.
func (c *importCommand) importSets(ctx context.Context, sets []wire.IdentityImportRequest) error {
	numbered := identityImportCommand{gridOutput: gridOutput{gridFlags: c.gridFlags}}
	for _, set := range sets {
		if _, err := asked(ctx, c.gridFlags, func(ctx context.Context) (wire.IdentityImportResponse, error) {
			return numbered.restore(ctx, set)
		}); err != nil {
			return fmt.Errorf("set %s/%s: %w", set.Cluster, set.Name, err)
		}
	}
	return nil
}

func (c *importCommand) importQuotas(ctx context.Context, quotas []roster.Quota) error {
	if len(quotas) == 0 {
		return nil
	}
	var in wire.SettingsRequest
	for _, q := range quotas {
		in.Quotas = append(in.Quotas, roster.QuotaEdit{Pattern: q.Pattern, Names: &q.Names, HolderNodes: &q.HolderNodes,
			PeerNodes: &q.PeerNodes, Calls: &q.Calls})
	}
	_, err := c.settings(ctx, in)
	return err
}
