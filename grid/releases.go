package grid

import (
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// releases compares this member's release with the releases of members that open Raft streams. It
// implements transport.Releases.
type releases struct {
	*deps

	told librarylog.Sparse
}

func (r *releases) Own() roster.Release { return wire.OwnRelease() }

func (r *releases) Admit(theirs roster.Release) error {
	err := wire.OwnRelease().Meets(theirs)
	if err != nil {
		if skipped, due := r.told.Due(r.clock.Mono()); due {
			r.log.Error("Raft stream refused: the releases are incompatible", "error", err, "more", skipped)
		}
	}
	return err
}
