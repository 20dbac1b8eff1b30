//go:build nextrelease

package wire_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestFormatIsTheProtocolThatIsNeeded: an entry has the format of the oldest release that
// can read it, so a grid that uses nothing new writes only entries of format 1.
func TestFormatIsTheProtocolThatIsNeeded(t *testing.T) {
	before := someRoster()
	raise := roster.Command{From: before.Version, Change: &roster.Change{Protocol: roster.Protocol2}}
	raised, err := before.Apply(raise)
	if err != nil {
		t.Fatal(err)
	}
	lowered, err := raised.Apply(roster.Command{From: raised.Version, Change: &roster.Change{Protocol: roster.Protocol1}})
	if err != nil {
		t.Fatal(err)
	}
	noted := roster.Command{From: before.Version, Change: &roster.Change{Protocol: roster.Protocol2,
		Upcoming: roster.Upcoming{Note: "x"}}}
	written, err := before.Apply(noted)
	if err != nil {
		t.Fatal(err)
	}
	// a member of protocol 1 would refuse the latter, and be of another grid
	for _, c := range []roster.Command{noted, raise} {
		data, err := wire.EncodeCommand(c)
		if err != nil || data[0] != 2 {
			t.Errorf("%+v has format %d, %v", c, data[0], err)
		}
		if read, err := wire.DecodeCommand(data); err != nil || !reflect.DeepEqual(read, c) {
			t.Errorf("%+v arrived as %+v, %v", c, read, err)
		}
	}
	for _, c := range commands() {
		if data, err := wire.EncodeCommand(c); err != nil || data[0] != 1 {
			t.Errorf("%+v has format %d, %v", c, data[0], err)
		}
	}
	for r, want := range map[*roster.Roster]byte{before: 1, raised: 2, lowered: 1, written: 2} {
		data, err := wire.EncodeRoster(r)
		if err != nil || data[0] != want {
			t.Errorf("a roster of protocol %d has format %d, %v", r.InUse(), data[0], err)
		}
		if read, err := wire.DecodeRoster(data); err != nil || !reflect.DeepEqual(read, r) {
			t.Errorf("%+v arrived as %+v, %v", r, read, err)
		}
		data[0] = byte(roster.CurrentProtocol) + 1
		var later *wire.FormatError
		if _, err := wire.DecodeRoster(data); !errors.As(err, &later) {
			t.Errorf("a roster of a later format: %v", err)
		}
		if data[0] = 1; want > 1 {
			if _, err := wire.DecodeRoster(data); !errors.Is(err, wire.ErrBadRequest) {
				t.Errorf("a roster with a part that its format does not have: %v", err)
			}
		}
	}
}
