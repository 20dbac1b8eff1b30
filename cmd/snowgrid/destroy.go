package main

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/client"
)

// destroyCommand ends a sequencer.
type destroyCommand struct {
	Name string `arg:"" help:"Name of the sequencer."`
	gridFlags
}

// Help is the part of --help between the usage and the flags.
func (destroyCommand) Help() string {
	return `Every process that uses the sequencer is told, and its next call fails. The name can be used again;
its new life starts above the IDs of the old one as long as the epoch stays the same.

    snowgrid destroy orders --addr 10.0.0.1:7948`
}

// Run destroys the sequencer.
func (d *destroyCommand) Run(ctx context.Context, to streams) error {
	return d.use(ctx, func(c *client.Client) error {
		err := d.ask(ctx, func(ctx context.Context) error { return c.DestroySequencer(ctx, d.Name) })
		if err != nil {
			return err // it names the sequencer
		}
		fmt.Fprintf(to.out, "destroyed %s\n", d.Name)
		return nil
	})
}
