package sequencer

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/failure"
)

// record is one life of one name.
type record struct {
	ref       Ref
	destroyed bool
	adopted   bool // it was shown by a holder since the last loss, and is from nowhere else
	mark      Tick // destroyed: a new life grants from here
	// free is the first tick nobody was granted, for nodes without a slot.
	free  Tick
	slots []slot // nodes that were ever attached, ascending
	// unslotted is a lower bound of the lowest node without a slot.
	unslotted int
}

// slot is one logical node that was attached at least once.
type slot struct {
	node NodeID
	id   AttachmentID // zero: unassigned
	from Tick         // assigned: where the attachment's grant begins
	free Tick         // the first tick nobody was granted
}

// agrees returns ErrConflict, showing both, if def is not the life's definition.
func (r *record) agrees(def Definition) error {
	if r.ref.Definition == def {
		return nil
	}
	return failure.Errorf(ErrConflict, "sequencer %q: the grid has %v, asked for was %v; use the existing definition, or another name",
		def.Name(), r.ref.Definition, def)
}

// assigned returns the slot that an attachment holds.
func (r *record) assigned(id AttachmentID) *slot {
	for i := range r.slots {
		if r.slots[i].id == id {
			return &r.slots[i]
		}
	}
	return nil
}

// slot returns a node's slot, nil if it never had one.
func (r *record) slot(n NodeID) *slot {
	if i, ok := r.find(n); ok {
		return &r.slots[i]
	}
	return nil
}

func (r *record) find(n NodeID) (int, bool) {
	return slices.BinarySearchFunc(r.slots, n, func(s slot, n NodeID) int { return int(s.node) - int(n) })
}

// choose returns the slot to attach next, made if need be, nil if all are
// assigned. Nodes without a slot all have the record's free; no slot has a
// smaller one, but one that has as small a free may be the lower node.
func (r *record) choose(p Preference) *slot {
	if !p.Any && int(p.Node) < r.ref.Definition.Nodes() {
		i, ok := r.find(p.Node)
		if !ok {
			return r.insert(i, p.Node)
		}
		if r.slots[i].id.IsZero() {
			return &r.slots[i]
		}
	}
	var best *slot
	for i := range r.slots {
		s := &r.slots[i]
		if s.id.IsZero() && (best == nil || s.free < best.free) {
			best = s
		}
	}
	n, found := r.lowestUnslotted()
	if !found || best != nil && best.free == r.free && best.node < n {
		return best
	}
	i, _ := r.find(n)
	return r.insert(i, n)
}

// lowestUnslotted returns the lowest node that never had a slot.
func (r *record) lowestUnslotted() (NodeID, bool) {
	for ; r.unslotted < r.ref.Definition.Nodes(); r.unslotted++ {
		if _, taken := r.find(NodeID(r.unslotted)); !taken {
			return NodeID(r.unslotted), true
		}
	}
	return 0, false
}

func (r *record) insert(i int, n NodeID) *slot {
	r.slots = slices.Insert(r.slots, i, slot{node: n, free: r.free})
	return &r.slots[i]
}
