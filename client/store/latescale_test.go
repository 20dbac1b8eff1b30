package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestLateScaleOfTheLifeBefore: a record that a scale writes after its life has ended, and after the next
// life has moved to other nodes, is refused: the next life can use all its nodes, and be destroyed.
func TestLateScaleOfTheLifeBefore(t *testing.T) {
	inBubble(t, func(b *bench) {
		of := func(lo, hi sequencer.NodeID) sequencer.Config {
			return sequencer.Config{Nodes: 128, NodeRange: sequencer.NodeRange{Lo: lo, Hi: hi}}
		}
		memory := b.store.(*Memory)
		paused := &hooked{Memory: memory}
		b.store = paused
		slow := b.client()
		b.store = memory
		fast := b.client(func(cfg *Config) { cfg.Pool = 2 })
		live := func(cfg sequencer.Config) *sequencer.Sequencer {
			s, err := fast.CreateSequencer(b.Context(), "orders", cfg)
			if err != nil {
				b.Fatal(err)
			}
			b.next(s)
			return s
		}
		destroy := func() {
			if err := fast.DestroySequencer(b.Context(), "orders"); err != nil {
				b.Error(err)
			}
		}
		live(of(6, 7)) // closed when the next life begins, and outside its first two nodes
		destroy()
		live(of(4, 7))
		var late atomic.Int32
		moved := make(chan struct{})
		paused.setBefore(func(_ context.Context, call, key string) error {
			if call == "swap" && (strings.HasSuffix(key, "/6.json") || strings.HasSuffix(key, "/7.json")) {
				if late.Add(1) == 2 { // both were computed
					destroy()
					live(of(6, 9))
					close(moved)
				}
				<-moved
			}
			return nil
		})
		err := slow.Scale(b.Context(), "orders", 4)
		if late.Load() != 2 || !errors.Is(err, sequencer.ErrDestroyed) {
			b.Errorf("the scale, %d swaps of which were late, returned %v", late.Load(), err)
		}
		status, err := fast.Status(b.Context(), "orders")
		if err != nil || status.Slots != 2 || len(status.Records) != 2 {
			b.Fatalf("status %+v, %v", status, err)
		}
		for _, r := range status.Records {
			if r.Err != nil || r.State == "retired" {
				b.Errorf("record %+v", r)
			}
		}
		destroy()
	})
}
