package partition

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestCollectedTombstoneCoversShownLife: after a loss, a holder of an earlier life shows it, and is granted ticks
// until the definitions arrive. The next life repeats no ID of this holder, and none of the destroyed life on the
// disk (O7, D6).
func TestCollectedTombstoneCoversShownLife(t *testing.T) {
	const lost, ceiling = 10000, 20000
	define := func(ms int64, layout sequencer.Layout) sequencer.Definition {
		def, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.UnixMilli(ms), Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		return def
	}
	slow := sequencer.Layout{Bits: 63, LowBits: 22, Nodes: 1024}
	first, second := define(5000, sequencer.Layout{}), define(4000, slow)
	third := define(1000, slow)
	for what, lives := range map[string][2]sequencer.Definition{
		"the shown life has larger IDs":     {first, second},
		"the destroyed life has larger IDs": {second, first},
	} {
		shown := attachment.Ref{Definition: lives[0], Life: attachment.Life{1}}
		stored := attachment.Ref{Definition: lives[1], Life: attachment.Life{2}}
		table := NewTable()
		table.BecomeOwner(lost, true, false)
		claim := Claim{Ref: shown, ID: attachment.ID{1}, Trust: Trust{Forgotten: true, Before: true}}
		if _, _, err := table.Renew(claim, Bounds{Now: lost, Ceiling: ceiling}); err != nil {
			t.Fatal(err)
		}
		table.Collect(Definitions{Records: []DefinitionRecord{{Ref: stored, Destroyed: true, Mark: 9000}}})
		next := attachment.Ref{Definition: third, Life: attachment.Life{3}}
		if last := first.MaxID(clustertime.Tick(ceiling - 1).Time()); third.MinID(clustertime.Tick(ceiling).Time()) > last {
			t.Fatal("the third life would not repeat IDs of the first")
		}
		if _, _, err := table.Create(next, ceiling); !errors.Is(err, sequencer.ErrConflict) {
			t.Errorf("%s: create: %v, want ErrConflict", what, err)
		}
	}
}
