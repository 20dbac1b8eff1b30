package main

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/definitionflags"
	"github.com/snowgrid/snowgrid/sequencer"
)

type scaleCommand struct {
	Name  string `arg:"" help:"Sequencer."`
	Slots int    `arg:"" help:"Logical nodes in use from now on: 1 to the sequencer's node count."`
	storeFlags
}

func (s *scaleCommand) Run(ctx context.Context, to streams) error {
	return s.change(ctx, to, s.Name, func(ctx context.Context, c *store.Client) error {
		return c.Scale(ctx, s.Name, s.Slots)
	})
}

// change changes a sequencer with a client for the store, and prints it. The client is closed without a request to the
// store: it has no logical nodes.
func (f storeFlags) change(ctx context.Context, to streams, name string,
	do func(ctx context.Context, c *store.Client) error) error {
	cfg, err := f.windows()
	if err != nil {
		return err
	}
	return f.within(ctx, &cfg, func(ctx context.Context, o opened) error {
		c, err := store.Open(ctx, o.Store, cfg)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }() // it returns no error
		if err := do(ctx, c); err != nil {
			return err
		}
		all, err := readStore(ctx, o.Store, name, momentsAt(time.Now(), f.window()))
		if err != nil {
			return fmt.Errorf("done; its records cannot be read: %w", err)
		}
		return printSequencers(to.out, all)
	})
}

type retireCommand struct {
	Name string           `arg:"" help:"Sequencer."`
	Node sequencer.NodeID `arg:"" help:"Logical node."`
	storeFlags
}

func (r *retireCommand) Run(ctx context.Context, to streams) error {
	return r.change(ctx, to, r.Name, func(ctx context.Context, c *store.Client) error {
		return c.Retire(ctx, r.Name, r.Node)
	})
}

type repairCommand struct {
	Name  string           `arg:"" help:"Sequencer."`
	Node  sequencer.NodeID `arg:"" help:"Logical node."`
	Floor string           `help:"Assert that no process uses this node, and that none has issued IDs at or above TIME. Too early a time leads to equal IDs. A time one window after the present is safe if the clocks were right." required:"" placeholder:"TIME"`
	storeFlags
}

func (r *repairCommand) Run(ctx context.Context, to streams) error {
	floor, err := definitionflags.ParseTime(r.Floor)
	if err != nil {
		return fmt.Errorf("--floor: %w", err)
	}
	r.Timeout += durationFlag(r.window()) // Repair waits for a window, by default for less than the timeout
	return r.change(ctx, to, r.Name, func(ctx context.Context, c *store.Client) error {
		return c.Repair(ctx, r.Name, r.Node, floor)
	})
}
