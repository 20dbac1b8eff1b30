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

type initialized struct {
	Grid    string    `json:"grid"`
	Members int       `json:"members"`
	First   time.Time `json:"first"`   // where its IDs begin
	Jump    int64     `json:"jump_ms"` // part of the wait for a clock jump that no survivor has seen
}

func (c *initCommand) Run(ctx context.Context, to streams) error {
	floor, err := c.floor()
	if err != nil {
		return err
	}
	in := wire.InitRequest{Force: c.Force, FirstLife: c.FirstLife}
	if !floor.IsZero() {
		in.Floor = clustertime.TickOf(floor)
	}
	var out wire.InitResponse
	member := gridFlags{clientFlags: clientFlags{[]string{c.Addr}, c.Timeout}, accessFlags: c.accessFlags}
	err = member.ask(ctx, func(ctx context.Context) error {
		status, addr, err := fetchStatusOfAny(ctx, member.Addr)
		if err == nil { // addressed to the present incarnation
			err = postTo(ctx, addr, status.Answering, wire.PathInit, in, &out)
		}
		if err != nil && !c.Force && !errors.Is(err, wire.ErrNotConfirmed) {
			err = fmt.Errorf("nothing was done: %w", err)
		}
		return err
	})
	if err != nil {
		return err
	}
	result := initialized{Grid: out.Grid.String(), Members: out.Members, First: out.First.Time(),
		Jump: out.Jump.Duration().Milliseconds()}
	return c.result(to.out, result, func(w io.Writer) {
		fmt.Fprintf(w, "forming grid %v with %s; its IDs begin at %s\n", out.Grid, counted(out.Members, "member"),
			momentAndDistance(out.First.Time(), time.Now()))
		if out.Jump > 0 {
			fmt.Fprintf(w, "this includes %v for a clock jump that no survivor has seen; --floor replaces it\n",
				out.Jump.Duration())
		}
	})
}
