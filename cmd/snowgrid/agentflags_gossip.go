package main

import (
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// gossipFlags set the pace at which members probe each other.
type gossipFlags struct {
	GossipInterval time.Duration `help:"How often the member probes another one: 100ms to 60s. Default: 1s." env:"SNOWGRID_GOSSIP_INTERVAL" placeholder:"DURATION"`
	GossipTimeout  time.Duration `help:"Time for the answer to a probe, less than the interval. Default: half of it." env:"SNOWGRID_GOSSIP_TIMEOUT" placeholder:"DURATION"`
	GossipCycles   int           `help:"Intervals for which a suspected member may be silent before it is removed: 1 to 100. Default: as many as last a second." env:"SNOWGRID_GOSSIP_CYCLES" placeholder:"COUNT"`
}

func (f *gossipFlags) apply(cfg *grid.Config) error {
	cfg.Gossip = grid.GossipPace{Interval: f.GossipInterval, Timeout: f.GossipTimeout, Cycles: f.GossipCycles}
	return nil
}
