package wire_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestRelayedErrorsKeepTheirCodes: a member that passes the leader's answer on gives the same
// codes as the leader.
func TestRelayedErrorsKeepTheirCodes(t *testing.T) {
	for _, err := range []error{
		wire.ErrCleanUnknownSet, numbers.ErrUnknownSet, numbers.ErrAlive, numbers.ErrNotRegistered,
		&numbers.RefusedID{Next: 7, Reason: "not the next one"},
	} {
		first := wire.ErrorOf(fmt.Errorf("set: %w", err), 3)
		second := wire.ErrorOf(first.Unwire(), 3)
		if *first != *second {
			t.Errorf("%+v is passed on as %+v", *first, *second)
		}
	}
	old := &wire.Error{Code: "unknown_set", Message: "of a member that states no other code"}
	if err := old.Unwire(); !errors.Is(err, numbers.ErrUnknownSet) || errors.Is(err, wire.ErrCleanUnknownSet) {
		t.Errorf("%v", err)
	}
}
