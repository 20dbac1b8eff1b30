package host

import (
	"errors"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// checkIdentity refuses a request from a process if its number belongs to another process or is no
// longer registered, before it reaches a partition. id is nil for a process without a number. With a
// roster older than the registration, a replaced process continues for that long; that is safe, since
// its grants and its successor's do not overlap.
func (d *deps) checkIdentity(id *wire.Identity) error {
	if id == nil {
		return nil
	}
	err := d.state.Roster().CheckIdentity(id.Cluster, id.Set, id.ID, id.Incarnation)
	switch {
	case errors.Is(err, numbers.ErrUnknownSet): // here, perhaps because this roster is older
		return failure.Errorf(sequencer.ErrUnavailable, "grid: %s", err.Error())
	case errors.Is(err, numbers.ErrInvalid):
		return failure.Errorf(wire.ErrBadRequest, "grid: %s", err.Error())
	}
	return err
}
