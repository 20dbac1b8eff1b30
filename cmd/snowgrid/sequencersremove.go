package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

type removeSequencersCommand struct {
	UnusedFor time.Duration `help:"Only sequencers that were not used for as long, such as 720h." required:"" placeholder:"DURATION"`
	Prefix    *string       `help:"Only sequencers whose names begin so." placeholder:"TEXT"`
	After     string        `help:"Begin with the first name above this one." placeholder:"NAME"`
	DryRun    bool          `help:"List them, and remove none." xor:"how" required:""`
	Yes       bool          `help:"Remove them." xor:"how" required:""`
	gridOutput
}

// check refuses a time that is too short to mean anything, and a prefix that a script meant to state.
func (c *removeSequencersCommand) check() error {
	if c.Prefix != nil && *c.Prefix == "" {
		return usage(errors.New(
			`--prefix="": every name begins so; give the beginning of the names, or omit the flag to remove all`))
	}
	if c.UnusedFor < time.Second {
		return usage(fmt.Errorf("--unused-for=%v: give at least 1s, such as 720h for 30 days", c.UnusedFor))
	}
	return nil
}

type removal struct {
	DryRun     bool             `json:"dry_run"`
	Removed    int              `json:"removed"`
	Failed     int              `json:"failed"`
	Sequencers []wire.UnusedRow `json:"sequencers"` // all that are unused
	wire.Coverage
	// Stopped is the name after which the command stopped before its end.
	Stopped string `json:"stopped_after,omitempty"`
}

const removalPage = 200

// Run removes the sequencers, a page at a time.
func (c *removeSequencersCommand) Run(ctx context.Context, to streams) error {
	if err := c.check(); err != nil {
		return err
	}
	out := removal{DryRun: c.DryRun, Sequencers: []wire.UnusedRow{}}
	in := wire.UnusedRequest{After: c.After, Limit: removalPage, UnusedFor: c.UnusedFor.Milliseconds(), Remove: c.Yes}
	if c.Prefix != nil {
		in.Prefix = *c.Prefix
	}
	var failed error
	for {
		var page wire.UnusedResponse
		if err := c.request(ctx, wire.PathUnused, in, &page); err != nil {
			failed, out.Stopped = err, in.After
			break
		}
		out.add(page)
		if page.Next == "" {
			break
		}
		if in.After = page.Next; c.Yes {
			fmt.Fprintf(to.err, "removed %d, failed %d, up to %q\n", out.Removed, out.Failed, page.Next)
		}
	}
	if failed != nil && len(out.Sequencers) == 0 {
		return asking(failed)
	}
	if err := c.result(to.out, out, out.print); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return fmt.Errorf("stopped: %w; continue with --after %q", failed, in.After)
	case out.Failed > 0:
		return errors.New(counted(out.Failed, "sequencer") + " not removed; see the list")
	}
	if missing := out.Missing(); missing != "" {
		return fmt.Errorf("not complete: %s; repeat the command later", missing)
	}
	return nil
}

func (r *removal) add(page wire.UnusedResponse) {
	r.Sequencers = append(r.Sequencers, page.Sequencers...)
	for _, row := range page.Sequencers {
		switch {
		case row.Removed:
			r.Removed++
		case row.Error != "":
			r.Failed++
		}
	}
	r.Add(page.Coverage)
}

func (r removal) print(w io.Writer) {
	if len(r.Sequencers) > 0 {
		fmt.Fprint(w, "SEQUENCER\tUNUSED FOR AT LEAST\tOUTCOME\n")
		for _, row := range r.Sequencers {
			outcome := "unused"
			switch {
			case row.Removed:
				outcome = "removed"
			case row.Error != "":
				outcome = "failed: " + row.Error
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", shown(row.Name), span(time.Duration(row.UnusedFor)*time.Millisecond), outcome)
		}
		fmt.Fprintln(w)
	}
	if r.DryRun {
		fmt.Fprintf(w, "%s unused; --yes removes them\n", counted(len(r.Sequencers), "sequencer"))
	} else {
		fmt.Fprintf(w, "%s removed, %d failed\n", counted(r.Removed, "sequencer"), r.Failed)
	}
}
