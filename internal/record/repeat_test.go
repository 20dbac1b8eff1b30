package record

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestLivesRepeatNoID creates and destroys a name with random definitions: the IDs of each life are above those
// of all lives before, and a definition is refused only if they would not be.
func TestLivesRepeatNoID(t *testing.T) {
	const base = 1_790_000_000_000
	r := rand.New(rand.NewPCG(11, 7))
	layouts := []sequencer.Layout{{}, sequencer.Twitter(), sequencer.JSSafe(), {Bits: 44, LowBits: 12, Nodes: 64}}
	random := func() (sequencer.Definition, sequencer.Layout) {
		cfg := sequencer.Config{Layout: layouts[r.IntN(len(layouts))]}
		cfg.Epoch = epoch.UnixMilli(base - 1_000*r.Int64N(4)*r.Int64N(100_000))
		if r.IntN(4) == 0 {
			cfg.Epoch = epoch.Default
		}
		def, err := sequencer.Define("orders", cfg)
		if err != nil {
			t.Fatal(err)
		}
		return def, def.Config().Layout
	}
	begun, refused := 0, 0
	for range 500 {
		def, layout := random()
		d := NewDocument(def, [8]byte{1}, "n")
		tick, highest := int64(base), int64(-1)
		for range 8 {
			start := d.Definition.Config().Epoch.UnixMilli()
			end := int64(1) << (layout.Bits - layout.LowBits)
			if r.IntN(5) > 0 { // IDs were granted up to the mark
				tick += 1 + r.Int64N(1<<r.IntN(36))
				d.Mark = clustertime.Tick(tick)
			}
			if offset := min(int64(d.Mark)-start, end); offset > 0 {
				highest = max(highest, offset<<layout.LowBits-1)
			}
			d.Phase = Destroyed
			next, nextLayout := random()
			first := max(int64(d.Mark)-next.Config().Epoch.UnixMilli(), 0)
			first = min(first, 1<<(nextLayout.Bits-nextLayout.LowBits)-1) << nextLayout.LowBits
			above := first > highest || next == d.Definition
			after, err := d.Recreate(next, [8]byte{2}, "m")
			switch {
			case err == nil && !above:
				t.Fatalf("mark %d: %v follows %v, and an ID up to %d was issued", d.Mark, next, d.Definition, highest)
			case err != nil && (above || !errors.Is(err, sequencer.ErrConflict)):
				t.Fatalf("mark %d: %v after %v, with IDs up to %d: %v", d.Mark, next, d.Definition, highest, err)
			case err != nil:
				refused++
				d.Phase = Alive
			default:
				begun++
				d, layout = after, nextLayout
			}
		}
	}
	if begun < 500 || refused < 500 {
		t.Errorf("%d lives begun, %d refused", begun, refused)
	}
}

// TestFirstIDIsAboveTheLast is the limit of a refusal: with the mark at tick 1,790,000,000,000, the last tick of the
// earlier life is one before it.
func TestFirstIDIsAboveTheLast(t *testing.T) {
	const mark = 1_790_000_000_000
	of := func(layout sequencer.Layout, before int64) sequencer.Definition {
		def, err := sequencer.Define("orders", sequencer.Config{Layout: layout, Epoch: epoch.UnixMilli(mark - before)})
		if err != nil {
			t.Fatal(err)
		}
		return def
	}
	whole, twitter := sequencer.Layout{}, sequencer.Twitter()
	for what, c := range map[string]struct {
		was, will sequencer.Definition
		mark      clustertime.Tick
		refused   bool
	}{
		"an epoch earlier by 1 ms":        {of(whole, 1000), of(whole, 1001), mark, false},
		"an epoch later by 1 ms":          {of(whole, 1000), of(whole, 999), mark, true},
		"the last ms of more nodes":       {of(twitter, 1001), of(whole, 500), mark, true},
		"the next ms of more nodes":       {of(twitter, 1000), of(whole, 500), mark, false},
		"the last ms of fewer low bits":   {of(whole, 501), of(twitter, 1001), mark, true},
		"the next ms of fewer low bits":   {of(whole, 501), of(twitter, 1002), mark, false},
		"an epoch after the mark":         {of(whole, 1000), of(whole, -1000), mark, true},
		"no ID, with a mark before":       {of(whole, 1000), of(whole, 10), mark - 1000, false},
		"one millisecond of IDs":          {of(whole, 1000), of(whole, 10), mark - 999, true},
		"a life that issued nothing ever": {of(whole, 1000), of(twitter, 10), 0, false},
	} {
		d := NewDocument(c.was, [8]byte{1}, "n")
		d.Phase, d.Mark = Destroyed, c.mark
		if _, err := d.Recreate(c.will, [8]byte{2}, "m"); errors.Is(err, sequencer.ErrConflict) != c.refused ||
			!c.refused && err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
