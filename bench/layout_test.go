package main

import (
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestTwitterLayoutIsThatOfBwmarrin: with their default settings, both take the IDs of the
// other apart into the same parts.
func TestTwitterLayoutIsThatOfBwmarrin(t *testing.T) {
	nodes, steps := snowflake.NodeBits, snowflake.StepBits // globals, which other tests change
	t.Cleanup(func() { snowflake.NodeBits, snowflake.StepBits = nodes, steps })
	snowflake.NodeBits, snowflake.StepBits = 10, 12
	if snowflake.Epoch != epoch.Twitter.UnixMilli() {
		t.Fatalf("the epoch of bwmarrin/snowflake is %d, want Twitter's", snowflake.Epoch)
	}
	def, err := sequencer.Define("tweets", sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter})
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []int64{0, 1, 512, 1023} {
		node, err := snowflake.NewNode(number)
		if err != nil {
			t.Fatal(err)
		}
		for range 10_000 {
			id := node.Generate()
			want := sequencer.Parts{Time: time.UnixMilli(id.Time()).UTC(), Node: sequencer.NodeID(id.Node()),
				Counter: uint32(id.Step())}
			if got := def.Decompose(sequencer.ID(id)); got != want || int64(got.Node) != number {
				t.Fatalf("%d is %+v, and with bwmarrin/snowflake %+v of node %d", id, got, want, number)
			}
			if again, err := def.Compose(want); err != nil || int64(again) != id.Int64() {
				t.Fatalf("the parts of %d are composed as %d, %v", id, again, err)
			}
		}
	}
}
