package main

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/definitionflags"
	"github.com/snowgrid/snowgrid/sequencer"
)

// scaleCommand changes the number of logical nodes in use.
type scaleCommand struct {
	Name  string `arg:"" help:"Sequencer."`
	Slots int    `arg:"" help:"Logical nodes in use from now on: 1 to the sequencer's node count."`
	storeFlags
}

// Run scales.
func (s *scaleCommand) Run(ctx context.Context, to streams) error {
	return s.use(ctx, nil, func(ctx context.Context, o opened, c *store.Client) error {
		if err := c.Scale(ctx, s.Name, s.Slots); err != nil {
			return err
		}
		return printAfter(ctx, to, o, s.Name, s.window())
	})
}

// printAfter prints a sequencer after a change.
func printAfter(ctx context.Context, to streams, o opened, name string, window time.Duration) error {
	all, err := readStore(ctx, o.Store, name, momentsAt(time.Now(), window))
	if err != nil {
		return fmt.Errorf("done; its records cannot be read: %w", err)
	}
	for _, q := range all {
		if err := printSequencer(to.out, q); err != nil {
			return err
		}
	}
	return nil
}

// retireCommand takes one logical node out of use.
type retireCommand struct {
	Name string           `arg:"" help:"Sequencer."`
	Node sequencer.NodeID `arg:"" help:"Logical node."`
	storeFlags
}

// Run retires.
func (r *retireCommand) Run(ctx context.Context, to streams) error {
	return r.use(ctx, nil, func(ctx context.Context, o opened, c *store.Client) error {
		if err := c.Retire(ctx, r.Name, r.Node); err != nil {
			return err
		}
		return printAfter(ctx, to, o, r.Name, r.window())
	})
}

// repairCommand replaces a missing or damaged record.
type repairCommand struct {
	Name  string           `arg:"" help:"Sequencer."`
	Node  sequencer.NodeID `arg:"" help:"Logical node."`
	Floor string           `help:"Assert that no process uses this node, and that none has issued IDs at or above TIME. Too early a time leads to equal IDs. A time one window after the present is safe if the clocks were right." required:"" placeholder:"TIME"`
	storeFlags
}

// Run repairs.
func (r *repairCommand) Run(ctx context.Context, to streams) error {
	floor, err := definitionflags.ParseTime(r.Floor)
	if err != nil {
		return fmt.Errorf("--floor: %w", err)
	}
	r.Timeout += durationFlag(r.window()) // Repair waits for a window, by default for less than the timeout
	return r.use(ctx, nil, func(ctx context.Context, o opened, c *store.Client) error {
		if err := c.Repair(ctx, r.Name, r.Node, floor); err != nil {
			return err
		}
		return printAfter(ctx, to, o, r.Name, r.window())
	})
}
