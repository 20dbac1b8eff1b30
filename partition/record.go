package partition

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// record is one life of one name.
type record struct {
	ref       attachment.Ref
	destroyed bool
	adopted   bool             // recreated from a claim since the last loss, without another source
	mark      clustertime.Tick // destroyed: a new life grants from here
	// free is the first tick that was not granted, for nodes without a slot.
	free  clustertime.Tick
	slots []slot // nodes that were ever attached, ascending
	// unslotted is a lower bound of the lowest node without a slot.
	unslotted int
	// used is the time of the name's last use at this member as the owner, on its monotonic clock;
	// 0 for never. Replicas do not exchange it.
	used time.Duration
}

// slot is one logical node that was attached at least once.
type slot struct {
	node sequencer.NodeID
	id   attachment.ID    // zero: unassigned
	from clustertime.Tick // assigned: where the attachment's grant begins
	free clustertime.Tick // the first tick that was not granted
	// shown is the end of the node's grant as claimed by a holder from an earlier run of the grid:
	// nothing below it is granted to another holder. It has no other effect, since only that holder
	// vouches for it.
	shown clustertime.Tick
}

// keptMax bounds a name's logical nodes reserved by claims at one time.
const keptMax = 16

// kept returns how many logical nodes are kept on holders' words at a time.
func (r *record) kept(now clustertime.Tick) (n int) {
	for i := range r.slots {
		if r.slots[i].shown > now {
			n++
		}
	}
	return n
}

// mayKeep refuses a claim that would have one logical node more kept than may be.
func (r *record) mayKeep(c Claim, b Bounds) error {
	if c.Shown == 0 || c.Any || r.kept(b.Now) < min(keptMax, max(1, r.ref.Nodes()/4)) {
		return nil
	}
	if s := r.slot(c.Node); s != nil && s.shown > b.Now {
		return nil
	}
	return failure.Errorf(sequencer.ErrDetached,
		"sequencer %q: %d logical nodes are kept for holders of other lives of the grid already; attach again",
		c.Ref.Definition.Name(), r.kept(b.Now))
}

// agrees returns ErrConflict, showing both, if def is not the life's definition.
func (r *record) agrees(def sequencer.Definition) error {
	if r.ref.Definition == def {
		return nil
	}
	return failure.Errorf(sequencer.ErrConflict, "sequencer %q: conflicting definition: the grid has %v, requested was "+
		"%v; use the existing definition, or another name",
		def.Name(), r.ref.Definition, def)
}

func (r *record) assigned(id attachment.ID) *slot {
	for i := range r.slots {
		if r.slots[i].id == id {
			return &r.slots[i]
		}
	}
	return nil
}

// slot returns a node's slot, nil if it never had one.
func (r *record) slot(n sequencer.NodeID) *slot {
	if i, ok := r.find(n); ok {
		return &r.slots[i]
	}
	return nil
}

func (r *record) find(n sequencer.NodeID) (int, bool) {
	return slices.BinarySearchFunc(r.slots, n, func(s slot, n sequencer.NodeID) int { return int(s.node) - int(n) })
}

// choose returns the slot to attach next, and makes it if necessary; nil if all are assigned. Nodes
// without a slot all have the record's free time; no slot has a smaller one, but a slot with the
// same free time may have a lower node. A node reserved by a claim goes only to such a holder.
func (r *record) choose(c Claim, now clustertime.Tick) *slot {
	p := c.Preference
	if !p.Any && r.ref.HasNode(p.Node) {
		i, ok := r.find(p.Node)
		if !ok {
			return r.insert(i, p.Node)
		}
		if r.slots[i].id.IsZero() && (c.Shown > 0 || r.slots[i].shown <= now) {
			return &r.slots[i]
		}
	}
	var best *slot
	for i := range r.slots {
		s := &r.slots[i]
		if s.id.IsZero() && s.shown <= now && (best == nil || s.free < best.free) {
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
func (r *record) lowestUnslotted() (sequencer.NodeID, bool) {
	nodes := r.ref.Definition.Config().NodeRange
	for r.unslotted = max(r.unslotted, int(nodes.Lo)); r.unslotted <= int(nodes.Hi); r.unslotted++ {
		if _, taken := r.find(sequencer.NodeID(r.unslotted)); !taken {
			return sequencer.NodeID(r.unslotted), true
		}
	}
	return 0, false
}

func (r *record) insert(i int, n sequencer.NodeID) *slot {
	r.slots = slices.Insert(r.slots, i, slot{node: n, free: r.free})
	return &r.slots[i]
}
