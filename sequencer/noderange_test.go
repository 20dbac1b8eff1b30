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
	if got := all.Config().NodeRange; got != (sequencer.NodeRange{Hi: 1023}) {
		t.Errorf("the range of all nodes is %v", got)
	}
	spelled := twitter
	spelled.NodeRange = sequencer.NodeRange{Hi: 1023}
	if got := define(t, "tweets", spelled); got != all || strings.Contains(got.String(), "holders") {
		t.Errorf("the range of all nodes defines %v, not %v", got, all)
	}
	narrow := twitter
	narrow.NodeRange = sequencer.NodeRange{Lo: 32, Hi: 1023}
	d := define(t, "tweets", narrow)
	narrow.Nodes = 1024
	if d == all || d.Config() != narrow {
		t.Errorf("%v has the configuration %+v, want %+v", d, d.Config(), narrow)
	}
	whole := all.Config().NodeRange
	if whole.Count(1024) != 1024 || narrow.NodeRange.Count(1024) != 992 || (sequencer.NodeRange{}).Count(64) != 64 {
		t.Errorf("%d, %d nodes in the ranges", whole.Count(1024), narrow.NodeRange.Count(1024))
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
	if got := (sequencer.Definition{}).Config().NodeRange; got != (sequencer.NodeRange{}) {
		t.Errorf("the zero definition has the node range %v", got)
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
