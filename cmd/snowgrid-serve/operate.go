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

// Help returns the --help text between the usage and the flags.
func (scaleCommand) Help() string {
	return `As many processes can have a logical node at the same time. Scaling down retires the highest nodes: their holders
take others, or wait for one. Scaling up restores them, with the versions that they had.

    snowgrid-serve scale orders 64 --store file:./ids`
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

// Help returns the --help text between the usage and the flags.
func (retireCommand) Help() string {
	return `For a node whose clock ran ahead, or whose holder is to take another one. The holder loses the node with its next
renewal and may use what it was granted. snowgrid-serve scale, with the present number of nodes, restores it.

    snowgrid-serve retire orders 7 --store file:./ids

A node that was granted far ahead needs no retire; see snowgrid-serve repair --help.`
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

// Help returns the --help text between the usage and the flags.
func (repairCommand) Help() string {
	return `A record that was deleted, or that another program has overwritten, is never made anew by itself, because it shows
up to when IDs were granted; the node stays out of use. This command makes the record on your word.

    snowgrid-serve repair orders 7 --store file:./ids \
        --floor 2026-11-22T12:00:15Z

A node that was granted far ahead, by a process whose clock was wrong, is left alone until that time. The number of
usable nodes is as before with one node more, which needs no word of yours (snowgrid-serve scale). To have the node back
earlier, set the clocks, end its holder, and repair it with a floor above the times of all IDs that it issued: LAST USED
of the status is the last that it reported, and an earlier floor is refused. The command waits for a window (--window,
as the processes have it), and is refused if the holder renews its record meanwhile.`
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
