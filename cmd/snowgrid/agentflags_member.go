package main

import "github.com/snowgrid/snowgrid/grid"

// memberFlags describe the member to people.
type memberFlags struct {
	MemberName string `help:"Name of this member for people, in the status and the log: at most 63 letters, digits, dots, hyphens and underscores. Default: the host name." env:"SNOWGRID_MEMBER_NAME" placeholder:"NAME"`
}

func (f *memberFlags) apply(cfg *grid.Config) error {
	cfg.MemberName = f.MemberName
	return nil
}
