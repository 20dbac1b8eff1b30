package grid

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// keysReservedFor exceeds the two rounds of a change: a list of every member's keys, and the change at every member.
const keysReservedFor = 10 * time.Second

// keysReserved is part of the error of a member whose keys another change has reserved.
const keysReserved = "another change of gossip keys is in progress"

// keysReservation is the change that a member's keys are reserved for. A use and a removal rest on the keys that all
// members have, so no member makes one while another one is between its list and its end. Without this, a use and a
// removal of one key at the same time succeed at some members each, and these cannot decrypt the others. The zero value
// has none.
type keysReservation struct {
	change string // "" for none
	by     string // its caller
	until  time.Time
}

// admit reserves the keys at a list, and admits the change that they are reserved for.
func (r *keysReservation) admit(in wire.SetKeysRequest, now time.Time) error {
	if r.change != "" && now.After(r.until) {
		*r = keysReservation{}
	}
	is := in.Operation == wire.KeyringUse || in.Operation == wire.KeyringRemove
	switch {
	case in.Change == "" && !is: // a list for an operator, or an installation
	case r.change != "" && r.change != in.Change:
		return failure.Errorf(wire.ErrNotNow, "grid: %s, by %s: repeat the command when it has ended", keysReserved, r.by)
	case is && r.change == "":
		return failure.Errorf(wire.ErrNotNow,
			"grid: the list of keys that this change rests on is older than %v; repeat the command", keysReservedFor)
	case is || in.Release:
		*r = keysReservation{}
	default:
		*r = keysReservation{change: in.Change, by: in.AskedBy, until: now.Add(keysReservedFor)}
	}
	return nil
}
