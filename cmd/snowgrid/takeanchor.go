package main

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// takeAnchorCommand has a grid take its anchor, whichever grid holds it.
type takeAnchorCommand struct{ gridOutput }

type anchorTaken struct {
	Taking bool `json:"taking"` // the grid has accepted the request
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
