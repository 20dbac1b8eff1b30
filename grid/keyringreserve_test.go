package grid

import (
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestKeysReservation: a change of keys needs the reservation of its own list, one change at a time, until it expires.
func TestKeysReservation(t *testing.T) {
	const stale, busy = "is older than 10s; repeat", "in progress, by alice: repeat"
	request := func(operation, change string) wire.SetKeysRequest {
		in := wire.KeyringRequest{Operation: operation}
		return wire.SetKeysRequest{KeyringRequest: in, Change: change, AskedBy: "alice"}
	}
	release := request(wire.KeyringList, "a")
	release.Release = true
	var r keysReservation
	now := time.Unix(0, 0)
	for i, step := range []struct {
		in    wire.SetKeysRequest
		later time.Duration
		err   string
	}{
		{request(wire.KeyringUse, ""), 0, stale},
		{request(wire.KeyringRemove, "a"), 0, stale},
		{request(wire.KeyringList, "a"), 0, ""},
		{request(wire.KeyringList, ""), 0, ""},
		{request(wire.KeyringInstall, ""), 0, ""},
		{request(wire.KeyringUse, ""), 0, busy},
		{request(wire.KeyringList, "b"), 0, busy},
		{request(wire.KeyringUse, "a"), 0, ""},
		{request(wire.KeyringUse, "a"), 0, stale},
		{request(wire.KeyringList, "a"), 0, ""},
		{release, 0, ""},
		{request(wire.KeyringList, "b"), 0, ""},
		{request(wire.KeyringRemove, "b"), keysReservedFor + time.Second, stale},
	} {
		now = now.Add(step.later)
		err := r.admit(step.in, now)
		if step.err == "" && err != nil || step.err != "" && (err == nil || !strings.Contains(err.Error(), step.err)) {
			t.Errorf("step %d, %s of %q: error %v, want %q", i, step.in.Operation, step.in.Change, err, step.err)
		}
	}
}
