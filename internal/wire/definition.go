package wire

import "github.com/snowgrid/snowgrid/sequencer"

// Layout is a [sequencer.Layout] that messages leave out if it is zero, which means 63/23/8192.
type Layout sequencer.Layout

// IsZero reports whether encoders leave l out.
func (l Layout) IsZero() bool { return l == Layout{} }

// NodeRange is a [sequencer.NodeRange] that messages leave out if it is zero, which means all nodes.
type NodeRange sequencer.NodeRange

// IsZero reports whether encoders leave r out.
func (r NodeRange) IsZero() bool { return r == NodeRange{} }
