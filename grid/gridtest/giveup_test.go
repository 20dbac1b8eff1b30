package gridtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// An ID made after its logical node was given up would be one that the node's
// next holder makes too: few nodes, busy callers, and holders that come and go in
// the middle of everything show it.

// nap sleeps up to n steps of 10 ms. Since calls take no time in a bubble, those
// who wake in the same millisecond meet in it.
func nap(n int) {
	const step = 10 * time.Millisecond
	time.Sleep(time.Until(time.Now().Truncate(step).Add(time.Duration(1+rand.IntN(n)) * step)))
}

// busy has goroutines take IDs of whatever handle current gives, many of them in
// the same milliseconds, until the load is stopped.
func busy(l *load, label string, n int, current func() *sequencer.Sequencer) {
	ctx := l.ctx
	for i := range n {
		caller := l.c.caller(fmt.Sprint(label, " ", i))
		l.done.Go(func() {
			for ctx.Err() == nil {
				s := current()
				dst := make([]sequencer.ID, 1+rand.N(8))
				began := time.Now()
				k, err := s.Fill(ctx, dst)
				caller.note(s, time.Since(began), nil, dst[:k]...)
				for err == nil && rand.N(20) > 0 {
					_, err = caller.next(ctx, s)
				}
				if err != nil && ctx.Err() == nil &&
					!matches(err, []error{sequencer.ErrDetached, sequencer.ErrDestroyed, sequencer.ErrNoFreeNode}) {
					l.c.tb.Errorf("%s: %v", label, err)
				}
				nap(40)
			}
		})
	}
}

func TestNodesGivenUpUnderLoad(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 1, Durable: true,
			Change: func(_ string, c *grid.Config) { c.Window = time.Hour }})
		ids := newChecker(t)
		load := ids.load(0)
		handles, clients := fill(t, g, "few", 128)
		for _, s := range handles[124:] { // 4 free nodes for 8 clients
			ok(t, "detach", s.DetachLogicalNode(t.Context()))
		}
		for _, c := range clients { // their sessions outlast the test
			ok(t, "close", c.Close())
		}
		given := 0
		for i := range 8 {
			label := fmt.Sprint("c", i)
			s, err := g.Client("busy-"+label).OpenSequencer(t.Context(), "few")
			ok(t, "open", err)
			busy(load, label, 3, func() *sequencer.Sequencer { return s })
			load.done.Go(func() {
				for load.ctx.Err() == nil {
					err := s.AttachLogicalNode(load.ctx)
					nap(50)
					if err == nil && load.ctx.Err() == nil {
						ok(t, "detach", s.DetachLogicalNode(context.Background()))
						ids.mu.Lock()
						given++
						ids.mu.Unlock()
					}
				}
			})
		}
		time.Sleep(time.Minute)
		load.stop()
		t.Logf("%d nodes given up, %d IDs", given, ids.count())
		if given < 150 {
			t.Errorf("only %d nodes were given up", given)
		}
	})
}

func TestDestroyAndCreateUnderLoad(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		ids := newChecker(t)
		load := ids.load(0)
		var from []creator
		for i := range 4 {
			from = append(from, g.Client(fmt.Sprint("c", i)))
		}
		from = append(from, g.Member("m1"), g.Member("m2"))
		for i, f := range from {
			busy(load, fmt.Sprint("holder ", i), 1, func() *sequencer.Sequencer {
				for {
					s, err := f.CreateSequencer(context.Background(), "orders", sequencer.Config{Nodes: 128})
					if err == nil {
						return s
					}
					if !matches(err, []error{sequencer.ErrDestroyed}) {
						t.Errorf("create: %v", err)
					}
				}
			})
		}
		lives := 0
		for range 100 {
			nap(120)
			err := from[rand.N(len(from))].DestroySequencer(t.Context(), "orders")
			if err == nil {
				lives++
			} else if !matches(err, []error{sequencer.ErrNotFound}) {
				t.Fatal("destroy:", err)
			}
		}
		load.stop()
		t.Logf("%d lives, %d IDs, longest call of Next %v", lives, ids.count(), ids.wait(""))
	})
}
