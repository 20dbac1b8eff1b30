package grid

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// Errors to compare with errors.Is, besides package sequencer's.
var (
	// ErrClock means that a wall clock cannot be right. [Start] and [Recover] return it.
	ErrClock = clustertime.ErrClock
	// ErrNotNeeded means that [Recover] has nothing to do: the given directories have a majority of
	// votes.
	ErrNotNeeded = wire.ErrNotNeeded
	// ErrNotConfirmed means that [Recover] would lose a member that RecoverConfig.Lost does not name.
	// Nothing was done.
	ErrNotConfirmed = wire.ErrNotConfirmed
)
