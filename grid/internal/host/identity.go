package host

import (
	"errors"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// checkIdentity refuses a request of a process whose number is another process's by now, or
// is no longer registered, before any partition sees it. nil is a process without a number.
// A roster that is older than the registration lets a replaced process continue for that long;
// nothing depends on it, since its grants and those of its successor do not overlap.
func (h *Host) checkIdentity(id *wire.Identity) error {
	if id == nil {
		return nil
	}
	err := roster.CheckSetName(id.Cluster, id.Set) // they are in the texts of errors
	if err == nil {
		err = h.state.Roster().CheckIdentity(id.Cluster, id.Set, id.ID, id.Incarnation)
	}
	switch {
	case errors.Is(err, roster.ErrUnknownSet): // here, perhaps because this roster is older
		return failure.Errorf(sequencer.ErrUnavailable, "grid: %s", err.Error())
	case errors.Is(err, roster.ErrInvalid):
		return failure.Errorf(wire.ErrBadRequest, "grid: %s", err.Error())
	}
	return err
}
