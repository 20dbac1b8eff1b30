package main

import "github.com/snowgrid/snowgrid/grid"

// debugFlags enable the paths for tests of a grid.
type debugFlags struct {
	Debug bool `help:"Serve /membership/debug/ to this machine: the state of gossip, and ways to pause or end the member. For tests." env:"SNOWGRID_DEBUG"`
}

func (f *debugFlags) apply(cfg *grid.Config) error {
	cfg.Debug = f.Debug
	return nil
}
