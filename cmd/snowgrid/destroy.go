package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

type destroyCommand struct {
	Name string `arg:"" help:"Name of the sequencer."`
	Yes  bool   `help:"Destroy it without a question. Scripts need this flag."`
	gridOutput
}

type destroyed struct {
	Destroyed string `json:"destroyed"` // name of the sequencer
}

func (d *destroyCommand) Run(ctx context.Context, to streams) error {
	if !d.Yes {
		if err := d.exists(ctx); err != nil {
			return err
		}
		if err := confirm(to, fmt.Sprintf("Destroy sequencer %s for all holders, permanently?", shown(d.Name))); err != nil {
			return err
		}
	}
	return d.use(ctx, func(c *client.Client) error {
		err := d.ask(ctx, func(ctx context.Context) error { return c.DestroySequencer(ctx, d.Name) })
		if err != nil {
			return err // names the sequencer
		}
		return d.line(to.out, destroyed{d.Name}, "destroyed %s", shown(d.Name))
	})
}

// exists returns an error if the sequencer does not exist. It returns nil if the caller may not
// list sequencers, or the list is incomplete.
func (d *destroyCommand) exists(ctx context.Context) error {
	var list wire.SequencersResponse
	err := d.ask(ctx, func(ctx context.Context) error {
		_, err := fetchPage(ctx, d.Addr, wire.PathSequencers, wire.SequencersRequest{Prefix: d.Name, Limit: 1}, &list)
		return err
	})
	switch {
	case errors.Is(err, security.ErrDenied):
		return nil
	case err != nil:
		return err
	case list.Missing() != "", len(list.Sequencers) > 0 && list.Sequencers[0].Name == d.Name:
		return nil
	}
	return fmt.Errorf("sequencer %q not found; snowgrid sequencers lists the names", d.Name)
}
