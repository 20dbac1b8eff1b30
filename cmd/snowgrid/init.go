package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/wire"
)

// initCommand forms a memory-only grid anew whose majority is gone.
type initCommand struct {
	Addr    string        `help:"API address of one member that is left." default:"127.0.0.1:7948" env:"SNOWGRID_ADDR"`
	Timeout time.Duration `help:"How long to wait for the member's answer." default:"30s" env:"SNOWGRID_TIMEOUT"`
	Force   bool          `help:"Do it. Without this flag it only says what it would do."`
	// FirstLife is said once, here, and never left behind in a configuration.
	FirstLife bool `help:"State that no process of an earlier life of this grid still runs. Only where no member has been in a grid."`
	statedFloor
}

// Help is the part of --help between the usage and the flags.
func (initCommand) Help() string {
	return `For a grid without data directories that lost most of its voters at once: the members that are left
agree on nothing any more, and what is gone never comes back. snowgrid status says so, under "to do".

The member at --addr and every other survivor it sees abandon the old grid for good and form a new one.
Sequencers and handles go on by themselves. Its IDs begin above everything the old grid can have granted:
after the window, 5 s, and 10 minutes, since the voters that are gone may have followed a jump of their
clocks by so much without a survivor hearing of it. --floor states that no ID above it was issued: the 10
minutes are left out then, and the IDs begin above it.

A member that is in no grid, because the others it expects never come, forms one with those it sees. Its
IDs begin after the window and 5 s; with --floor, which states that no ID above it was issued and that no
process of an earlier life still runs, above that and without the wait; with --first-life, which states
only the latter, now.

Be sure that the missing members do not run, at the other end of a broken network for example: they would
go on as the old grid, and issue the same IDs. Ask one survivor only. A grid with data directories needs
none of this: start its members again. If a majority of its voters is lost for good, stop the rest and see
snowgrid recover --help.

    snowgrid status --addr 10.0.0.1:7948
    snowgrid init --addr 10.0.0.1:7948
    snowgrid init --addr 10.0.0.1:7948 --force
    snowgrid init --addr 10.0.0.1:7948 --force --floor 7301444403200000 --epoch 2026-01-01
    snowgrid init --addr 10.0.0.1:7948 --force --first-life`
}

// Run asks the member.
func (c *initCommand) Run(ctx context.Context, to streams) error {
	floor, err := c.floor()
	if err != nil {
		return err
	}
	in := wire.InitRequest{Force: c.Force, FirstLife: c.FirstLife}
	if !floor.IsZero() {
		in.Floor = floor.UnixMilli()
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	out, err := c.post(ctx, in)
	if err != nil && !c.Force && !errors.Is(err, wire.ErrNotConfirmed) {
		err = fmt.Errorf("nothing was done: %w", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(to.out, "grid %v is being formed by %d members; its IDs begin at %s\n", out.Grid, out.Members, moment(time.UnixMilli(out.First)))
	if out.Jump > 0 {
		fmt.Fprintf(to.out, "that includes %v for a jump of the clocks that no survivor has heard of; with --floor it is left out\n",
			time.Duration(out.Jump)*time.Millisecond)
	}
	return nil
}

// post has the member do it, addressed to the start of it that runs now.
func (c *initCommand) post(ctx context.Context, in wire.InitRequest) (out wire.InitResponse, err error) {
	status, err := fetchStatus(ctx, c.Addr)
	if err != nil {
		return out, fmt.Errorf("no status from %s: %w", c.Addr, err)
	}
	err = postTo(ctx, c.Addr, status.Answering, wire.PathInit, in, &out)
	return out, err
}
