package main

import "github.com/snowgrid/snowgrid/grid"

// placementFlags sets the number of voters and the member's zone.
type placementFlags struct {
	Voters int    `help:"Members that vote on the roster, if there are as many: 1, 3, 5 or 7. 5 survive two simultaneous failures; a new grid then has 2 backups. Default: the grid's setting, or 3." env:"SNOWGRID_VOTERS" placeholder:"COUNT"`
	Zone   string `help:"Place of this member that fails as one, such as a rack or an availability zone. Copies and voters are spread over zones. Default: none." env:"SNOWGRID_ZONE" placeholder:"NAME"`
}

func (f *placementFlags) apply(cfg *grid.Config) error {
	cfg.Voters, cfg.Zone = f.Voters, f.Zone
	return nil
}
