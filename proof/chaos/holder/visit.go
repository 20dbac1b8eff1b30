//go:build linux

package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/proof/chaos/history"
	"github.com/snowgrid/snowgrid/sequencer"
)

// visitor connects repeatedly as a new client, takes some IDs of the load's sequencer, and
// leaves; every other time abruptly. It has no preferred logical node, so it gets the lowest
// free one: right after a fault this may be one that the grid must not treat as free.
type visitor struct {
	*holder
	config client.Config
	name   string
	rng    *rand.Rand
}

func (v *visitor) work(ctx context.Context) {
	for ctx.Err() == nil {
		v.visit(ctx)
		select {
		case <-time.After(time.Duration(500+v.rng.IntN(4000)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (v *visitor) visit(ctx context.Context) {
	dialing, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := client.Dial(dialing, v.config)
	if err != nil {
		return
	}
	defer c.Close()
	guest := &holder{client: c, to: v.to, handles: v.handles}
	on := guest.create(ctx, v.name)
	if on == nil || on.State() != sequencer.Attached {
		return
	}
	for range 1 + v.rng.IntN(20) {
		short, cancel := context.WithTimeout(ctx, time.Second)
		_, _ = guest.fill(short, history.Fill, on, make([]sequencer.ID, 16))
		cancel()
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if v.rng.IntN(2) == 0 {
		guest.ask(ctx, history.Detach, on)
	}
}
