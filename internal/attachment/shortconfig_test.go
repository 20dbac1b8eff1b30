package attachment_test

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestShortConfig: the parts that a configuration may leave out are left out, and define the same sequencer.
func TestShortConfig(t *testing.T) {
	whole := sequencer.Layout{Bits: 63, LowBits: 23, Nodes: 8192}
	for _, c := range []struct{ cfg, want sequencer.Config }{
		{sequencer.Config{}, sequencer.Config{Nodes: 8192}},
		{sequencer.Config{Nodes: 200, Layout: whole, NodeRange: sequencer.NodeRange{Hi: 255}}, sequencer.Config{Nodes: 256}},
		{sequencer.Config{Layout: sequencer.JSSafe(), NodeRange: sequencer.NodeRange{Hi: 63}},
			sequencer.Config{Nodes: 64, Layout: sequencer.JSSafe()}},
		{sequencer.Config{Nodes: 128, NodeRange: sequencer.NodeRange{Hi: 126}},
			sequencer.Config{Nodes: 128, NodeRange: sequencer.NodeRange{Hi: 126}}},
	} {
		d, err := sequencer.Define("orders", c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		got := attachment.ShortConfig(d)
		if again, err := sequencer.Define("orders", got); got != c.want || again != d || err != nil {
			t.Errorf("%+v is %+v, want %+v, which defines %v, %v", c.cfg, got, c.want, again, err)
		}
	}
}
