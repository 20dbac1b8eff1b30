package store

import (
	"testing"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNodeRangeOfAStore: records exist for nodes of the range alone, whatever Scale and Repair are asked for.
func TestNodeRangeOfAStore(t *testing.T) {
	inBubble(t, func(b *bench) {
		nodes := sequencer.NodeRange{Lo: 60, Hi: 63}
		pool := func(c *Config) { c.Pool = 64 }
		c := b.client(pool)
		seen := map[sequencer.NodeID]bool{}
		for range 4 {
			s, err := b.client(pool).CreateSequencer(b.Context(), "orders",
				sequencer.Config{Layout: sequencer.JSSafe(), NodeRange: nodes})
			if err != nil {
				b.Fatal(err)
			}
			b.next(s)
			node, _ := s.LogicalNode()
			seen[node] = true
		}
		for node := nodes.Lo; node <= nodes.Hi; node++ {
			if !seen[node] {
				b.Errorf("node %d has no holder: %v", node, seen)
			}
		}
		_, err := c.CreateSequencer(b.Context(), "orders", sequencer.Config{Layout: sequencer.JSSafe()})
		b.wants(err, sequencer.ErrConflict)
		b.wants(c.Scale(b.Context(), "orders", 5), sequencer.ErrInvalidConfig)
		b.wants(c.Retire(b.Context(), "orders", 59), sequencer.ErrInvalidConfig)
		if err := c.Retire(b.Context(), "orders", 63); err != nil {
			b.Fatal(err)
		}
		if err := c.Scale(b.Context(), "orders", 2); err != nil {
			b.Fatal(err)
		}
		if err := c.Scale(b.Context(), "orders", 4); err != nil {
			b.Fatal(err)
		}
		status, err := c.Status(b.Context(), "orders")
		if err != nil || len(status.Records) != 4 || status.Records[0].Node != 60 || status.Records[3].Node != 63 {
			b.Errorf("status: %+v, %v", status, err)
		}
	})
}
