package main

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/wire"
)

type forgetCommand struct {
	Member          string `arg:"" help:"Member: its ID (16 hex digits), incarnation, name, or API address, as listed by snowgrid status."`
	LoseDefinitions bool   `help:"Confirm the loss of definitions that no other disk has: sequencers that no running process holds are forgotten, and one that is created again with another epoch or node count can repeat IDs."`
	gridOutput
}

type forgotten struct {
	Member     string `json:"member"`
	Partitions int    `json:"partitions"` // with definitions on the disk
	Lost       int    `json:"lost"`       // stored on no other disk
}

func (c *forgetCommand) Run(ctx context.Context, to streams) error {
	in := wire.ForgetRequest{LoseDefinitions: c.LoseDefinitions}
	var out wire.ForgetResponse
	err := c.atMember(ctx, func(ctx context.Context, status grid.Status, addr string) (err error) {
		if in.Member, err = memberID(status, c.Member); err != nil {
			return err
		}
		return postTo(ctx, addr, status.Answering, wire.PathForget, in, &out)
	})
	if err != nil {
		return err
	}
	return c.line(to.out, forgotten{Member: string(in.Member), Partitions: out.Partitions, Lost: out.Lost},
		"the disk of %s was forgotten: %s depended on it, %s", in.Member,
		counted(out.Partitions, "partition"), lostText(out.Lost))
}

func lostText(lost int) string {
	if lost == 0 {
		return "and each has another disk"
	}
	return fmt.Sprintf("and %d had no other disk: their definitions are lost", lost)
}
