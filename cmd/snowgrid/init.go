package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// initCommand recovers a memory-only grid that lost its majority.
type initCommand struct {
	Addr    string        `help:"API address of one surviving member." default:"127.0.0.1:7948" env:"SNOWGRID_ADDR"`
	Timeout time.Duration `help:"Time limit for the member's answer." default:"30s" env:"SNOWGRID_TIMEOUT"`
	Force   bool          `help:"Confirm. Without this flag the command only describes its effect."`
	// FirstLife is a flag of this command and not a setting, so that it applies once.
	FirstLife bool `help:"Assert that no process of an earlier run of this grid is still running. Only if no member has been in a grid."`
	statedFloor
	fileFlag
	accessFlags
	outputFlag
}

// initialized is the command's result as JSON.
type initialized struct {
	Grid    string    `json:"grid"`
	Members int       `json:"members"`
	First   time.Time `json:"first"`   // where its IDs begin
	Jump    int64     `json:"jump_ms"` // part of the wait for a clock jump that no survivor has seen
}

func (initCommand) Help() string {
	return `For a grid without data directories that lost most of its voters: the survivors can no longer reach
agreement, and the lost state does not return. snowgrid status shows this under "to do".

The member at --addr and all other survivors that it sees leave the old grid for good and form a new one.
Sequencers and handles continue by themselves. The new grid's IDs begin above everything that the old grid
can have granted: after the window, 5 s and 10 minutes, because the lost voters may have followed a clock
jump of up to 10 minutes that no survivor has seen. --floor asserts that no ID above it was issued; it
replaces the 10 minutes.

A member that is in no grid, because the members it expects do not come, forms a grid with the members it
sees. The IDs of that grid begin after the window and 5 s. With --floor, which asserts that no ID above it
was issued and that no process of an earlier run is still running, they begin above the floor, without the
wait. With --first-life, which asserts only that no earlier process is running, they begin immediately.

Make sure that the missing members are not running, for example on the other side of a network partition:
they would continue as the old grid and issue the same IDs. Run the command on one survivor only. A grid
with data directories does not need it: start its members again. If a majority of its voters is lost for
good, stop the other members and see snowgrid recover --help.

    snowgrid status --addr 10.0.0.1:7948
    snowgrid init --addr 10.0.0.1:7948
    snowgrid init --addr 10.0.0.1:7948 --force
    snowgrid init --addr 10.0.0.1:7948 --force --floor 7301444403200000 \
        --epoch 2026-01-01
    snowgrid init --addr 10.0.0.1:7948 --force --first-life`
}

func (c *initCommand) Run(ctx context.Context, to streams) error {
	floor, err := c.floor()
	if err != nil {
		return err
	}
	if err := checkAddrs(c.Addr); err != nil {
		return err
	}
	in := wire.InitRequest{Force: c.Force, FirstLife: c.FirstLife}
	if !floor.IsZero() {
		in.Floor = clustertime.TickOf(floor)
	}
	if err := checkTimeout("timeout", c.Timeout); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if ctx, err = c.reach(ctx); err != nil {
		return err
	}
	out, err := c.post(ctx, in)
	if err != nil && !c.Force && !errors.Is(err, wire.ErrNotConfirmed) {
		err = fmt.Errorf("nothing was done: %w", err)
	}
	if err != nil {
		return err
	}
	result := initialized{Grid: out.Grid.String(), Members: out.Members, First: out.First.Time(),
		Jump: out.Jump.Duration().Milliseconds()}
	return c.result(to.out, result, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "forming grid %v with %d members; its IDs begin at %s\n", out.Grid, out.Members,
			momentAndDistance(out.First.Time(), time.Now()))
		if out.Jump > 0 && err == nil {
			_, err = fmt.Fprintf(w, "this includes %v for a clock jump that no survivor has seen; --floor replaces it\n",
				out.Jump.Duration())
		}
		return err
	})
}

// post sends the request, addressed to the member's present incarnation.
func (c *initCommand) post(ctx context.Context, in wire.InitRequest) (out wire.InitResponse, err error) {
	status, addr, err := fetchStatusOfAny(ctx, []string{c.Addr})
	if err != nil {
		return out, err
	}
	err = postTo(ctx, addr, status.Answering, wire.PathInit, in, &out)
	return out, err
}
