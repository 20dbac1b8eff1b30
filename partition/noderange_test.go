package partition

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNodesOutsideTheRangeAreNeverGranted: they belong to another generator, whether a holder prefers one, claims
// one or finds no other.
func TestNodesOutsideTheRangeAreNeverGranted(t *testing.T) {
	table := NewTable()
	table.BecomeOwner(100, true, true)
	definition := must(sequencer.Define("orders", sequencer.Config{Layout: sequencer.JSSafe(), Nodes: 16,
		NodeRange: sequencer.NodeRange{Lo: 5, Hi: 10}}))
	ref, _, err := table.Create(attachment.Ref{Definition: definition, Life: attachment.Life{1}}, 1_800_000_000_000)
	if err != nil {
		t.Fatal(err)
	}
	now := Bounds{Now: 1_800_000_000_000, Ceiling: 1_800_000_015_000}
	claim := func(id byte, p attachment.Preference) Claim {
		return Claim{Ref: ref, ID: attachment.ID{id}, Preference: p}
	}
	for node := range sequencer.NodeID(16) {
		_, _, err := table.Renew(claim(200, attachment.Preference{Node: node}), now)
		if outside := node < 5 || node > 10; outside != errors.Is(err, failure.ErrBadClaim) {
			t.Errorf("renew of node %d: %v", node, err)
		}
		table.records["orders"].Slots = nil
	}
	granted := map[sequencer.NodeID]bool{}
	for id := byte(1); id <= 6; id++ {
		p := attachment.Preference{Any: true}
		if id%2 == 0 {
			p = attachment.Preference{Node: sequencer.NodeID(id % 4)}
		}
		a, _, err := table.Attach(claim(id, p), now)
		if err != nil || a.Node < 5 || a.Node > 10 || granted[a.Node] {
			t.Errorf("attach %d: node %d, %v", id, a.Node, err)
		}
		granted[a.Node] = true
	}
	a, _, err := table.Attach(claim(7, attachment.Preference{Any: true}), now)
	if !errors.Is(err, sequencer.ErrNoFreeNode) {
		t.Errorf("attach of a seventh holder: %v, %v", a, err)
	}
}
