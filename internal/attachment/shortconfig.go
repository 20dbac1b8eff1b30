package attachment

import "github.com/snowgrid/snowgrid/sequencer"

// ShortConfig returns a definition's configuration as messages and stored records have it: the layout is zero for
// 63/23/8192, and the node range is zero for all nodes.
func ShortConfig(d sequencer.Definition) sequencer.Config {
	cfg := d.Config()
	if cfg.Layout == (sequencer.Layout{Bits: 63, LowBits: 23, Nodes: 8192}) {
		cfg.Layout = sequencer.Layout{}
	}
	if cfg.NodeRange == (sequencer.NodeRange{Hi: sequencer.NodeID(cfg.Nodes - 1)}) {
		cfg.NodeRange = sequencer.NodeRange{}
	}
	return cfg
}
