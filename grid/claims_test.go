package grid

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// claimOf is the n-th claim.
func claimOf(n byte) (roster.Claim, [16]byte) {
	return roster.Claim(fmt.Sprintf("%02x%030x", n, 0)), [16]byte{n}
}

// anchoredRoster is a roster of one member under a claim.
func anchoredRoster(self roster.Incarnation, claim roster.Claim) *roster.Roster {
	return &roster.Roster{Grid: roster.GridID{1}, Version: 3, Claim: claim, Anchored: claim != "",
		Members: []roster.Member{{Incarnation: self}}}
}

// TestRaftStreamsOfOtherClaims: a member that is registered under a claim takes no stream
// of another one; one that has just started does (A9).
func TestRaftStreamsOfOtherClaims(t *testing.T) {
	const self, other = "aaaaaaaaaaaaaaaa-0000000000000001", "aaaaaaaaaaaaaaaa-0000000000000002"
	first, bits1 := claimOf(1)
	_, bits2 := claimOf(2)
	for name, test := range map[string]struct {
		r       *roster.Roster
		stated  [16]byte
		own     [16]byte
		refused bool
	}{
		"own claim":                 {anchoredRoster(self, first), bits1, bits1, false},
		"another claim":             {anchoredRoster(self, first), bits2, bits1, true},
		"no claim":                  {anchoredRoster(self, first), [16]byte{}, bits1, true},
		"this start not registered": {anchoredRoster(other, first), bits2, bits1, false},
		"no roster yet":             {new(roster.Roster), bits2, [16]byte{}, false},
		"no anchor yet":             {anchoredRoster(self, ""), bits2, [16]byte{}, false},
	} {
		clock := handles.NewClock()
		s := state.New(clock, clock)
		s.Apply(test.r)
		c := &claims{deps: &deps{self: self, state: s, log: slog.New(slog.DiscardHandler)}}
		if err := c.Admit(test.stated); (err != nil) != test.refused || c.Own() != test.own {
			t.Errorf("%s: %v, own %x", name, err, c.Own())
		}
	}
}
