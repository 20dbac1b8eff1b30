package partition

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestReservedNodesAreBounded: holders of earlier grids can have a few logical nodes of
// a name reserved, and no more; a holder that shows none, or a reserved one, is served.
func TestReservedNodesAreBounded(t *testing.T) {
	p := newPair(t)
	p.create(t)
	b := Bounds{Now: 100, Ceiling: 500}
	show := func(node sequencer.NodeID, id byte) error {
		c := Claim{Ref: p.ref, ID: attachment.ID{1, id}, Preference: attachment.Preference{Node: node},
			Trust: Trust{Forgotten: true, Shown: 1 << 50}}
		_, _, err := p.original.Renew(c, b)
		return err
	}
	most := min(keptMax, p.ref.Definition.Config().Nodes/4)
	for n := range most {
		if err := show(sequencer.NodeID(n), byte(n)); err != nil {
			t.Fatalf("logical node %d: %v", n, err)
		}
	}
	if kept := p.original.Kept(p.ref.Definition.Name(), b.Now); kept != most {
		t.Errorf("%d logical nodes are kept, want %d", kept, most)
	}
	if err := show(sequencer.NodeID(most), 200); !errors.Is(err, sequencer.ErrDetached) {
		t.Errorf("one more logical node is kept: %v", err)
	}
	if err := show(0, 0); err != nil {
		t.Errorf("the first is shown again: %v", err)
	}
	a, _, err := p.original.Attach(Claim{Ref: p.ref, ID: attachment.ID{2}, Preference: attachment.Preference{Any: true}},
		b)
	if err != nil || a.Grant.From >= 1<<50 {
		t.Errorf("a newcomer: %+v, %v", a, err)
	}
	p.same(t)
	if p.original.Destroy(p.ref) != nil {
		t.Fatal("not destroyed")
	}
	if high, _ := p.original.High(); high >= 1<<50 {
		t.Errorf("the next life begins at %d, on holders' words", high)
	}
}

// TestKeptNodeIsNotGivenAway: a logical node that a holder of an earlier grid has shown, and
// given back, stays reserved until that grant ends, although no other node is free.
func TestKeptNodeIsNotGivenAway(t *testing.T) {
	p := newPair(t)
	p.create(t)
	const until = 5000
	shown := Claim{Ref: p.ref, ID: attachment.ID{1}, Preference: attachment.Preference{Node: 7},
		Trust: Trust{Forgotten: true, Shown: until}}
	if _, _, err := p.original.Renew(shown, Bounds{Now: 100, Ceiling: 500}); err != nil {
		t.Fatal(err)
	}
	if !p.original.Detach(p.ref, attachment.Release{ID: shown.ID, Node: 7}) {
		t.Fatal("not detached")
	}
	attach := func(n int, now clustertime.Tick) (attachment.Attachment, error) {
		c := Claim{Ref: p.ref, ID: attachment.ID{2, byte(n >> 8), byte(n)}, Preference: attachment.Preference{Any: true}}
		a, _, err := p.original.Attach(c, Bounds{Now: now, Ceiling: now + 500})
		return a, err
	}
	last := p.ref.Definition.Config().Nodes - 1
	for n := range last {
		if a, err := attach(n, 100); err != nil || a.Node == 7 {
			t.Fatalf("attach %d: %+v, %v", n, a, err)
		}
	}
	if a, err := attach(last, until-1); !errors.Is(err, sequencer.ErrNoFreeNode) {
		t.Errorf("before the shown grant ends: %+v, %v", a, err)
	}
	if a, err := attach(last, until); err != nil || a.Node != 7 || a.Grant.From < until {
		t.Errorf("at its end: %+v, %v", a, err)
	}
}
