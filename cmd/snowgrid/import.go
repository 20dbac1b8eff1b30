package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
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
	if err := c.check(ctx, file); err != nil {
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
		{"sequencers", func() error { return c.importNames(ctx, file.names, to) }},
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
func (c *importCommand) check(ctx context.Context, file *exportFile) error {
	status, err := c.awaitReady(ctx)
	switch {
	case err != nil:
		return err
	case status.Grid == file.header.ID:
		return fmt.Errorf("the export is of this grid, %s; form a new grid", status.Name)
	}
	existing, err := c.existing(ctx)
	if err != nil {
		return err
	}
	defined := map[string]exportedName{}
	for _, row := range existing {
		defined[row.Name] = exportedName{row.Name, row.Epoch.UnixMilli(), row.Nodes, row.Layout, row.NodeRange}
	}
	var same, other []string
	for _, e := range file.names {
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
	file.names = slices.DeleteFunc(file.names, func(e exportedName) bool {
		_, exists := defined[e.Name]
		return exists
	})
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

// importNames creates the sequencers, several at the same time.
func (c *importCommand) importNames(ctx context.Context, names []exportedName, to streams) error {
	ctx, err := c.reach(ctx)
	if err != nil {
		return err
	}
	owners := &ownerFinder{command: c, again: make(chan struct{}, 1)}
	if err := owners.refresh(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(withAccess(ctx, accessOf(ctx).keptAlive(importers)))
	defer cancel(nil)
	var next, done atomic.Int64
	var all sync.WaitGroup
	for range min(importers, len(names)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := owners.create(ctx, names[i]); err != nil {
					cancel(fmt.Errorf("%s: %w", shown(names[i].Name), err))
					return
				}
				done.Add(1)
			}
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	for tick := time.NewTicker(progressPause); ; {
		select {
		case <-ended:
			tick.Stop()
			return context.Cause(ctx)
		case <-tick.C:
			fmt.Fprintf(to.err, "%d of %s\n", done.Load(), counted(len(names), "sequencer"))
		}
	}
}

// ownerFinder finds the members that own names.
type ownerFinder struct {
	command *importCommand
	status  atomic.Pointer[grid.Status]
	again   chan struct{} // holds a token while one refreshes
}

func (o *ownerFinder) refresh(ctx context.Context) error {
	status, _, err := fetchStatusInGrid(ctx, o.command.Addr)
	if err == nil {
		o.status.Store(&status)
	}
	return err
}

// api returns the address of the owner of a name, "" while it has none.
func (o *ownerFinder) api(name string) string {
	status := o.status.Load()
	owner := status.OwnerOf(name)
	for _, m := range status.Members {
		if m.Incarnation == owner {
			return m.API
		}
	}
	return ""
}

// create creates a sequencer at its owner. It tries again while the owner changes or is overloaded.
func (o *ownerFinder) create(ctx context.Context, name exportedName) error {
	for end := time.Now().Add(createTries); ; {
		err := o.try(ctx, name)
		var unanswered *notAnsweredError
		again := errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, roster.ErrWrongOwner) ||
			errors.Is(err, wire.ErrOverloaded) || errors.As(err, &unanswered)
		if err == nil || !again || time.Now().After(end) {
			return err
		}
		if !signal.Sleep(ctx, waitPause) {
			return cmp.Or(context.Cause(ctx), err)
		}
		select {
		case o.again <- struct{}{}:
			_ = o.refresh(ctx) // else the owners stay, and the next try fails
			<-o.again
		default: // another create refreshes
		}
	}
}

func (o *ownerFinder) try(ctx context.Context, name exportedName) error {
	ctx, cancel := context.WithTimeout(ctx, o.command.Timeout)
	defer cancel()
	api := o.api(name.Name)
	if api == "" {
		return sequencer.ErrUnavailable
	}
	var created wire.SequencerResponse
	return postTo(ctx, api, "", wire.PathCreate, name.request(), &created)
}
