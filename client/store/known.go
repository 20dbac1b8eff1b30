package store

import (
	"maps"
	"slices"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// known returns the result of Config.Known without impossible nodes (Z19).
func (c *Client) known() map[sequencer.NodeID]uint64 {
	if c.cfg.Known == nil {
		return nil
	}
	said := c.cfg.Known()
	known := map[sequencer.NodeID]uint64{}
	for _, node := range slices.Sorted(maps.Keys(said)) {
		if node >= 0 && node < 1<<16 && len(known) < record.KnownMax {
			known[sequencer.NodeID(node)] = said[node]
		}
	}
	return known
}
