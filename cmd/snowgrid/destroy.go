package main

import (
	"context"
	"fmt"
	"io"

	"github.com/snowgrid/snowgrid/client"
)

// destroyCommand destroys a sequencer.
type destroyCommand struct {
	Name string `arg:"" help:"Name of the sequencer."`
	gridFlags
	outputFlag
}

// destroyed is the result of the command as JSON.
type destroyed struct {
	Destroyed string `json:"destroyed"` // name of the sequencer
}

// Help returns the part of --help between the usage and the flags.
func (destroyCommand) Help() string {
	return `Every process that uses the sequencer is notified, and its next call fails. The name can be created again:
the IDs of the new sequencer are above those of the old one if the epoch is the same.

    snowgrid destroy orders --addr 10.0.0.1:7948`
}

// Run destroys the sequencer.
func (d *destroyCommand) Run(ctx context.Context, to streams) error {
	return d.use(ctx, func(c *client.Client) error {
		err := d.ask(ctx, func(ctx context.Context) error { return c.DestroySequencer(ctx, d.Name) })
		if err != nil {
			return err // names the sequencer
		}
		return d.result(to.out, destroyed{d.Name}, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "destroyed %s\n", shown(d.Name))
			return err
		})
	})
}
