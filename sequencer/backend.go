package sequencer

import "github.com/snowgrid/snowgrid/internal/attachment/bridge"

// The types of package attachment that a handle uses.
type (
	attachment = bridge.Attachment[NodeID]
	preference = bridge.Preference[NodeID]
	release    = bridge.Release[NodeID]
)

// init lets package attachment make handles.
func init() {
	bridge.Sequencer = bridge.Handles[Definition, Sequencer, Striped, NodeID]{
		New: func(def Definition, life bridge.Life, backend bridge.Backend[NodeID], clock bridge.Clock) (*Sequencer,
			bridge.Control[NodeID]) {
			return newSequencer(def, life, backend, clock)
		},
		NewStriped:   newStripedOver,
		CheckNew:     Definition.checkNew,
		CheckStripes: Definition.checkStripes,
	}
}
