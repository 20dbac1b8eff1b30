package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/snowgrid/snowgrid/grid"
)

// printZones writes the zones of a grid that has several, the effect of the loss of one,
// and the votes of members that do not run.
func printZones(table io.Writer, s grid.Status) {
	var zones []string
	for _, z := range s.Zones {
		zones = append(zones, fmt.Sprintf("%s: %d members, %d voters%s", orNone(z.Zone), z.Members, z.Voters,
			unless(!z.Majority, " (the others are no majority)")))
	}
	if len(zones) > 0 {
		fmt.Fprintf(table, "zones\t%s\n", strings.Join(zones, "; "))
	}
	if s.OneZone > 0 {
		fmt.Fprintf(table, "one zone\t%d partitions have all their copies in one zone, and would lose them with it\n", s.OneZone)
	}
	for _, id := range s.AbsentVoters {
		fmt.Fprintf(table, "absent voter\t%s has a vote and is not in the grid: start it again, or take its vote with `snowgrid members remove %s`\n", id, id)
	}
}
