package partition

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestGrantsOfOtherClaims: an anchored grid moves no floor on a holder's word. Its anchor
// bounds every life before; a grant beyond the own ceiling is of a later claim than this
// member knows, and is not served here.
func TestGrantsOfOtherClaims(t *testing.T) {
	const floor, ceiling, now = clustertime.Tick(1_000_000), clustertime.Tick(1_020_000), clustertime.Tick(1_005_000)
	anchored := &roster.Roster{Grid: roster.GridID{1}, Claim: "01", Ceiling: ceiling,
		Settings: roster.Settings{Window: 15_000}}
	plain := *anchored
	plain.Claim = ""
	for name, test := range map[string]struct {
		r     *roster.Roster
		until clustertime.Tick
		want  earlier
	}{
		"up to the floor":                        {anchored, floor, covered},
		"beyond the floor":                       {anchored, floor + 1, contained},
		"up to the ceiling":                      {anchored, ceiling, contained},
		"beyond the ceiling":                     {anchored, ceiling + 1, unknown},
		"beyond the floor without an anchor":     {&plain, floor + 1, believed},
		"far beyond the floor without an anchor": {&plain, now + 1_000_000, contained},
	} {
		if got := judgeEarlier(test.r, floor, now, test.until); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
