package main

import (
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// settingsFlags state the settings that the grid agrees on, and the number of members that
// form it.
type settingsFlags struct {
	Name       string        `help:"Name of the grid. Default: the name in the data directory, or snowgrid." env:"SNOWGRID_NAME" placeholder:"NAME"`
	Expect     int           `help:"Number of members that form a new grid. Omit it to join an existing grid." env:"SNOWGRID_EXPECT" placeholder:"COUNT"`
	Backups    *int          `help:"Backups of each partition: 0 for none, 1 to 32767. Default: the grid's setting, or 1." env:"SNOWGRID_BACKUPS" placeholder:"COUNT"`
	Partitions int           `help:"Number of partitions. Default: the grid's setting, or 271." env:"SNOWGRID_PARTITIONS" placeholder:"COUNT"`
	Window     time.Duration `help:"Distance of the ceiling ahead of cluster time. Default: the grid's setting, or 15s." env:"SNOWGRID_WINDOW" placeholder:"DURATION"`
}

// apply sets the settings. Among flags 0 backups means none and an absent flag means unset,
// so a negative number is a mistake.
func (f *settingsFlags) apply(cfg *grid.Config) error {
	cfg.Name, cfg.Expect, cfg.Partitions, cfg.Window = f.Name, f.Expect, f.Partitions, f.Window
	if f.Backups != nil && (*f.Backups < 0 || *f.Backups > grid.MaxBackups) {
		return badValue("backups", *f.Backups,
			"give 0 for none, 1 to %d for as many backups, or omit it to use the grid's setting", grid.MaxBackups)
	}
	cfg.Backups = f.backups()
	return nil
}

// backups returns the flag as grid.Config has it, where 0 is unset.
func (f *settingsFlags) backups() int {
	switch {
	case f.Backups == nil:
		return 0
	case *f.Backups == 0:
		return grid.NoBackups
	}
	return *f.Backups
}
