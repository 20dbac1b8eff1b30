package main

import (
	"errors"
	"log/slog"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// agentFlags holds the agent's flags in groups, each in its own file (agentflags_*.go). A field XY is
// the flag --x-y, the variable SNOWGRID_X_Y and the configuration key x-y. After a change: a row in
// keyRows of keys_test.go, and go run ./cmd/snowgrid config reference > docs/configuration.md.
type agentFlags struct {
	settingsFlags
	memberFlags
	placementFlags
	addressFlags
	gossipFlags
	debugFlags
	storageFlags
	identityFlags
	floorFlags
	anchorFlags
	opsFlags
	securityFlags
	logFlags

	LeaveTimeout time.Duration `help:"Time limit for leaving the grid after the first signal." default:"20s" env:"SNOWGRID_LEAVE_TIMEOUT"`
}

// flagGroup is a group of agent flags that sets fields of grid.Config. A group has no Validate method:
// methods of embedded structs hide each other, and kong then calls none.
type flagGroup interface {
	// apply sets the fields of cfg, and returns each value that cannot work, naming its flag.
	// The fields of these have values without a mistake then, so that each has one message.
	apply(cfg *grid.Config) error
}

// groups returns the agent's flag groups in field order.
func (a *agentFlags) groups() []flagGroup {
	return []flagGroup{
		&a.settingsFlags,
		&a.memberFlags,
		&a.placementFlags,
		&a.addressFlags,
		&a.gossipFlags,
		&a.debugFlags,
		&a.storageFlags,
		&a.identityFlags,
		&a.floorFlags,
		&a.anchorFlags,
		&a.opsFlags,
		&a.securityFlags,
	}
}

// config returns the member's configuration, or every mistake in it that a start would refuse.
func (a *agentFlags) config(logger *slog.Logger) (grid.Config, error) {
	cfg, faults := a.fields(logger)
	if err := errors.Join(faults, a.checkConfig(cfg)); err != nil {
		return grid.Config{}, err
	}
	return cfg, nil
}

// fields returns the configuration that the flags state, and each flag whose value cannot work.
func (a *agentFlags) fields(logger *slog.Logger) (grid.Config, error) {
	cfg := grid.Config{Logger: logger}
	var faults []error
	for _, group := range a.groups() {
		faults = append(faults, group.apply(&cfg))
	}
	return cfg, errors.Join(faults...)
}

// checkConfig refuses a configuration that a start of the agent would refuse.
func (a *agentFlags) checkConfig(cfg grid.Config) error {
	reach := a.checkReach(cfg)
	_, files := a.checkFiles(cfg)
	if reach != nil || files != nil { // the grid refuses them as well, in the words of its configuration
		cfg.Security, cfg.Insecure = nil, true
	}
	return errors.Join(reach, cfg.Check(), files)
}
