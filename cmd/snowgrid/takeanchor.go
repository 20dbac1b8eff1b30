package main

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// takeAnchorCommand has a grid take its anchor, whichever grid holds it.
type takeAnchorCommand struct{ gridOutput }

// anchorTaken is the command's result as JSON.
type anchorTaken struct {
	Taking bool `json:"taking"` // the grid has accepted the request
}

func (takeAnchorCommand) Help() string {
	return `An anchored grid (snowgrid agent --anchor) may raise its ceiling only as far as the record of its anchor
allows, and only one grid of a name holds that record. Where two grids of one name run, one of them waits:
snowgrid status names the grid and the holder that it waits for. It takes the record by itself when the
other one is gone. With this command it takes the record now, and the other grid waits after the end of its
grants. No IDs repeat either way.

A record that was deleted is written again by this command alone: use it only if no other grid of the name
has run since the record was deleted, or IDs can repeat.

    snowgrid status --addr 10.0.0.1:7948
    snowgrid take-anchor --addr 10.0.0.1:7948`
}

func (c *takeAnchorCommand) Run(ctx context.Context, to streams) error {
	err := c.ask(ctx, func(ctx context.Context) error {
		status, addr, err := fetchStatusOfAny(ctx, c.Addr) // also of a member that waits for the anchor
		if err != nil {
			return err
		}
		var out wire.MemberResponse
		return postTo(ctx, addr, status.Answering, wire.PathTake, wire.TakeRequest{}, &out)
	})
	if err != nil {
		return err
	}
	return c.line(to.out, anchorTaken{Taking: true}, "the grid takes its anchor; see snowgrid status")
}
