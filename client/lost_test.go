package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// takeAll gives the node of a handle to another holder, and all others too.
func takeAll(t *testing.T, f *fake, c *Client, name string) {
	t.Helper()
	e := c.handles.Live(name)
	held, _ := e.Control.Held()
	f.set(func() {
		f.table.Expire(name, held.Node, held.ID, 0)
		f.session(f.of(name)).Drop(name, held.ID)
		for i := range e.Control.Ref().Definition.Config().Nodes {
			claim := partition.Claim{Ref: e.Control.Ref(), ID: attachment.ID{1, byte(i), byte(i >> 8)},
				Preference: attachment.Preference{Node: held.Node}}
			if _, _, err := f.table.Attach(claim, f.bounds()); err != nil {
				t.Error(i, err)
			}
		}
	})
}

// TestLostNodeWithoutAnother: a handle whose node went to another holder, and that finds none
// free, is Attached to the end of its grant, then Detached, and attaches when one is free. It
// asks seldom.
func TestLostNodeWithoutAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		until := h.Stats().GrantUntil
		takeAll(t, f, c, "orders")
		left := clustertime.TickOf(until).Sub(f.now()).Duration()
		time.Sleep(left - time.Millisecond)
		if works(t, h); h.State() != sequencer.Attached {
			t.Errorf("a millisecond before the end of its grant it is %v", h.State())
		}
		time.Sleep(3 * time.Millisecond)
		if _, held := h.LogicalNode(); held || h.State() != sequencer.Detached {
			t.Errorf("after the end of its grant it is %v", h.State())
		}
		f.set(func() { f.calls = nil })
		time.Sleep(time.Minute)
		if n := len(f.made(wire.PathAttach)); n < 60/3 || n > 60 {
			t.Errorf("%d attaches in a minute without a free node", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := h.Next(ctx)
		wants(t, err, sequencer.ErrNoFreeNode, context.DeadlineExceeded)
		f.set(func() { f.table.Expire("orders", 7, f.table.TenantsOf("orders")[7].ID, f.now()) })
		works(t, h)
		if h.State() != sequencer.Attached {
			t.Errorf("with a node free it is %v", h.State())
		}
	})
}

// TestLostNodeIsNotWanted: a handle that is detached by its user asks for no other node, and
// one that is detached when idle asks when an ID is wanted.
func TestLostNodeIsNotWanted(t *testing.T) {
	for name, give := range map[string]func(*sequencer.Sequencer) error{
		"detach": func(h *sequencer.Sequencer) error { return h.DetachLogicalNode(context.Background()) },
		"idle":   func(h *sequencer.Sequencer) error { h.DetachWhenIdle(time.Hour); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				c := f.dial(t)
				h := create(t, c, "orders")
				takeAll(t, f, c, "orders")
				if name == "detach" {
					time.Sleep(20 * time.Second) // it has lapsed
				}
				if err := give(h); err != nil && !errors.Is(err, sequencer.ErrDetached) {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Second)
				f.set(func() { f.calls = nil })
				time.Sleep(20 * time.Second)
				if n := len(f.made(wire.PathAttach)); n > 0 || h.State() != sequencer.Detached {
					t.Errorf("%d attaches of a handle that is %v", n, h.State())
				}
			})
		})
	}
}
