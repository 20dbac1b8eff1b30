package partition

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// record is one life of one name, with the state that replicas exchange.
type record struct {
	RecordState
	// unslotted is a lower bound of the lowest node without a slot.
	unslotted int
	// used is the time of the name's last use at this member as the owner, on its monotonic clock;
	// 0 for never. Replicas do not exchange it.
	used time.Duration
}

// keptMax bounds a name's logical nodes reserved by claims at one time.
const keptMax = 16

// kept returns how many logical nodes are kept on holders' words at a time.
func (r *record) kept(now clustertime.Tick) (n int) {
	for i := range r.Slots {
		if r.Slots[i].Shown > now {
			n++
		}
	}
	return n
}

// mayKeep refuses a claim that would have one logical node more kept than may be.
func (r *record) mayKeep(c Claim, b Bounds) error {
	if c.Shown == 0 || c.Any || r.kept(b.Now) < min(keptMax, max(1, r.Ref.Nodes()/4)) {
		return nil
	}
	if s := r.slot(c.Node); s != nil && s.Shown > b.Now {
		return nil
	}
	return failure.Errorf(sequencer.ErrDetached,
		"sequencer %q: %d logical nodes are kept for holders of other lives of the grid already; attach again",
		c.Ref.Definition.Name(), r.kept(b.Now))
}

// agrees returns ErrConflict, showing both, if def is not the life's definition.
func (r *record) agrees(def sequencer.Definition) error {
	if r.Ref.Definition == def {
		return nil
	}
	return failure.Errorf(sequencer.ErrConflict, "sequencer %q: conflicting definition: the grid has %v, requested was "+
		"%v; use the existing definition, or another name",
		def.Name(), r.Ref.Definition, def)
}

func (r *record) assigned(id attachment.ID) *SlotState {
	for i := range r.Slots {
		if r.Slots[i].ID == id {
			return &r.Slots[i]
		}
	}
	return nil
}

// slot returns a node's slot, nil if it never had one.
func (r *record) slot(n sequencer.NodeID) *SlotState {
	if i, ok := r.find(n); ok {
		return &r.Slots[i]
	}
	return nil
}

func (r *record) find(n sequencer.NodeID) (int, bool) {
	return slices.BinarySearchFunc(r.Slots, n, func(s SlotState, n sequencer.NodeID) int { return int(s.Node) - int(n) })
}

// choose returns the slot to attach next, and makes it if necessary; nil if all are assigned. Nodes
// without a slot all have the record's free time; no slot has a smaller one, but a slot with the
// same free time may have a lower node. A node reserved by a claim goes only to such a holder.
func (r *record) choose(c Claim, now clustertime.Tick) *SlotState {
	p := c.Preference
	if !p.Any && r.Ref.HasNode(p.Node) {
		i, ok := r.find(p.Node)
		if !ok {
			return r.insert(i, p.Node)
		}
		if r.Slots[i].ID.IsZero() && (c.Shown > 0 || r.Slots[i].Shown <= now) {
			return &r.Slots[i]
		}
	}
	var best *SlotState
	for i := range r.Slots {
		s := &r.Slots[i]
		if s.ID.IsZero() && s.Shown <= now && (best == nil || s.Free < best.Free) {
			best = s
		}
	}
	n, found := r.lowestUnslotted()
	if !found || best != nil && best.Free == r.Free && best.Node < n {
		return best
	}
	i, _ := r.find(n)
	return r.insert(i, n)
}

// lowestUnslotted returns the lowest node that never had a slot.
func (r *record) lowestUnslotted() (sequencer.NodeID, bool) {
	nodes := r.Ref.Definition.Config().NodeRange
	for r.unslotted = max(r.unslotted, int(nodes.Lo)); r.unslotted <= int(nodes.Hi); r.unslotted++ {
		if _, taken := r.find(sequencer.NodeID(r.unslotted)); !taken {
			return sequencer.NodeID(r.unslotted), true
		}
	}
	return 0, false
}

func (r *record) insert(i int, n sequencer.NodeID) *SlotState {
	r.Slots = slices.Insert(r.Slots, i, SlotState{Node: n, Free: r.Free})
	return &r.Slots[i]
}
