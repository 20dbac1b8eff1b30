package sequencer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestNodeRange(t *testing.T) {
	twitter := sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter}
	all := define(t, "tweets", twitter)
	if got := all.NodeRange(); got != (sequencer.NodeRange{Hi: 1023}) || !all.Config().NodeRange.IsZero() {
		t.Errorf("without a range: %v, in the configuration %v", got, all.Config().NodeRange)
	}
	spelled := twitter
	spelled.NodeRange = sequencer.NodeRange{Hi: 1023}
	if got := define(t, "tweets", spelled); got != all || strings.Contains(got.String(), "holders") {
		t.Errorf("the range of all nodes defines %v, not %v", got, all)
	}
	narrow := twitter
	narrow.NodeRange = sequencer.NodeRange{Lo: 32, Hi: 1023}
	d := define(t, "tweets", narrow)
	if d == all || d.NodeRange() != narrow.NodeRange || d.Config().NodeRange != narrow.NodeRange || d.Nodes() != 1024 {
		t.Errorf("%v has the range %v of %d nodes, and the configuration %+v", d, d.NodeRange(), d.Nodes(), d.Config())
	}
	if all.NodeRange().Count(1024) != 1024 || d.NodeRange().Count(1024) != 992 || (sequencer.NodeRange{}).Count(64) != 64 {
		t.Errorf("%d, %d nodes in the ranges", all.NodeRange().Count(1024), d.NodeRange().Count(1024))
	}
	if text := d.String(); !strings.Contains(text, "holders have nodes 32 to 1023") {
		t.Errorf("the text %q has no range", text)
	}
	if again := define(t, "tweets", d.Config()); again != d {
		t.Errorf("the configuration of %v defines %v", d, again)
	}
	id, err := d.Compose(sequencer.Parts{Time: epoch.Default.Time(), Node: 5})
	if err != nil || d.Decompose(id).Node != 5 {
		t.Errorf("an ID of the other generator: %v, %v", id, err)
	}
	if (sequencer.Definition{}).Config() != (sequencer.Config{}) && !(sequencer.Definition{}).Config().NodeRange.IsZero() {
		t.Error("the zero definition has a node range")
	}
}

func TestDefineRefusesNodeRanges(t *testing.T) {
	for _, r := range []sequencer.NodeRange{{Lo: 1}, {Lo: 9, Hi: 8}, {Hi: 16}, {Lo: 16, Hi: 16}, {Hi: 65535}} {
		d, err := sequencer.Define("orders", sequencer.Config{Layout: sequencer.JSSafe(), Nodes: 16, NodeRange: r})
		if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "0 to 15") {
			t.Errorf("%+v: %v, %v", r, d, err)
		}
	}
}
