package store

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestLostRecordCostsNoPause: a holder whose record was changed under it takes it again in the
// next version, whose grant begins where the old one ends. It issues IDs up to there.
func TestLostRecordCostsNoPause(t *testing.T) {
	inBubble(t, func(b *bench) {
		lost := make(chan Loss, 9)
		c, operator := b.client(func(c *Config) { c.OnLost = func(l Loss) { lost <- l } }), b.client()
		h := b.create(c)
		for range 3 {
			b.next(h)
			time.Sleep(700 * time.Millisecond)
			if err := operator.Retire(b.Context(), "orders", 0); err != nil {
				b.Fatal(err)
			}
			if err := operator.Scale(b.Context(), "orders", 4); err != nil {
				b.Fatal(err)
			}
			gap := time.Duration(0)
			for began := time.Now(); time.Since(began) < 7*time.Second; time.Sleep(10 * time.Millisecond) {
				asked := time.Now()
				b.next(h)
				gap = max(gap, time.Since(asked))
			}
			if len(lost) != 1 {
				b.Fatalf("%d losses", len(lost))
			}
			<-lost
			if gap > 50*time.Millisecond {
				b.Errorf("a call of Next waited for %v", gap)
			}
			if r := b.record(0); node(b, h) != 0 {
				b.Errorf("it is on node %d, and node 0 is %v", node(b, h), r.State)
			}
		}
	})
}

// TestLostRecordAndADetach: a handle that is detached while its next record waits for its turn
// keeps neither.
func TestLostRecordAndADetach(t *testing.T) {
	inBubble(t, func(b *bench) {
		c, operator := b.client(), b.client()
		h := b.create(c)
		b.next(h)
		if err := operator.Retire(b.Context(), "orders", 0); err != nil {
			b.Fatal(err)
		}
		if err := operator.Scale(b.Context(), "orders", 4); err != nil {
			b.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond) // it has noticed
		began := time.Now()
		if err := h.DetachLogicalNode(b.Context()); err != nil || time.Since(began) > 100*time.Millisecond {
			b.Errorf("detached after %v: %v", time.Since(began), err)
		}
		time.Sleep(100 * time.Millisecond)
		if r := b.record(0); h.State() != sequencer.Detached || r.State.String() != "free" {
			b.Errorf("the handle is %v, its record %v", h.State(), r.State)
		}
		if err := h.AttachLogicalNode(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.next(h)
	})
}
