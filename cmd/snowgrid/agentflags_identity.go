package main

import "github.com/snowgrid/snowgrid/grid"

// identityFlags name the set that the member has its number in.
type identityFlags struct {
	IdentityCluster string `help:"Cluster of the set of the member's number, which tells sets of one name apart. Default: the grid's name." env:"SNOWGRID_IDENTITY_CLUSTER" placeholder:"NAME"`
	IdentitySet     string `help:"Set in which the member has a number, 1, 2, 3 and so on, that it keeps in its data directory. After a restart it gets its earlier logical nodes back. Default: none, no number." env:"SNOWGRID_IDENTITY_SET" placeholder:"NAME"`
}

func (f *identityFlags) apply(cfg *grid.Config) error {
	cfg.Identity = grid.Identity{Cluster: f.IdentityCluster, Set: f.IdentitySet}
	return nil
}
