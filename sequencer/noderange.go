package sequencer

import "github.com/snowgrid/snowgrid/internal/failure"

// NodeRange selects the logical nodes that holders can have, both ends included. The zero value selects all
// nodes.
//
// A narrower range leaves the other nodes to another generator that has the same layout and epoch, such as
// the generator that a sequencer replaces. The two can then run at the same time, because their IDs have
// different nodes. The other generator has to keep to its nodes, which no sequencer can check.
//
//	sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter, NodeRange: sequencer.NodeRange{Lo: 32, Hi: 1023}}
//
// The range never changes, like the rest of the definition.
type NodeRange struct {
	// Lo is the lowest node.
	Lo NodeID `json:"lo"`
	// Hi is the highest node, at least Lo and below the sequencer's node count.
	Hi NodeID `json:"hi"`
}

// Count returns the number of nodes in the range, for a sequencer with so many nodes.
func (r NodeRange) Count(nodes int) int {
	if r == (NodeRange{}) {
		return nodes
	}
	return int(r.Hi) - int(r.Lo) + 1
}

// within returns r, or the range that the zero value stands for, and checks it against the node count.
func (r NodeRange) within(nodes int) (NodeRange, error) {
	if r == (NodeRange{}) {
		return NodeRange{Hi: NodeID(nodes - 1)}, nil
	}
	if r.Lo > r.Hi || int(r.Hi) >= nodes {
		return NodeRange{}, failure.Errorf(ErrInvalidConfig,
			"sequencer: nodes %d to %d are no range of the sequencer's %d nodes: give a range within 0 to %d, or none for all",
			r.Lo, r.Hi, nodes, nodes-1)
	}
	return r, nil
}
