package main

import (
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
	// apply refuses values that cannot work, naming the flag, or sets its fields of cfg.
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

// config returns the member's configuration.
func (a *agentFlags) config(logger *slog.Logger) (grid.Config, error) {
	cfg := grid.Config{Logger: logger}
	for _, group := range a.groups() {
		if err := group.apply(&cfg); err != nil {
			return grid.Config{}, err
		}
	}
	return cfg, nil
}
