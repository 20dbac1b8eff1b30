package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// printZones writes a grid's zones if it has several, the effect of losing one, and the votes held by
// members that do not run.
func printZones(table io.Writer, s grid.Status) {
	var zones []string
	for _, z := range s.Zones {
		zones = append(zones, fmt.Sprintf("%s: %s, %s%s", orNone(z.Zone), counted(z.Members, "member"),
			counted(z.Voters, "voter"), unless(!z.Majority, " (the others are no majority)")))
	}
	if len(zones) > 0 {
		fmt.Fprintf(table, "zones\t%s\n", strings.Join(zones, "; "))
	}
	if s.OneZone > 0 {
		fmt.Fprintf(table, "one zone\t%s with all copies in one zone, which loses them\n", counted(s.OneZone, "partition"))
	}
	for i, id := range s.AbsentVoters {
		who := id
		if i < len(s.Absent) && (s.Absent[i].Name != "" || s.Absent[i].Raft != "") {
			who = named(s.Absent[i].Name, who) + " at " + orNone(s.Absent[i].Raft)
		}
		fmt.Fprintf(table,
			"absent voter\t%s has a vote and is not in the grid: start it again, or take its vote with `snowgrid members "+
				"remove %s`\n", who, id)
	}
	printRecovery(table, s.Recovered)
}

// printRecovery writes the losses of a grid that was recovered from data directories.
func printRecovery(table io.Writer, r *grid.RecoveryInfo) {
	if r == nil {
		return
	}
	var lost []string
	for _, m := range r.Lost {
		lost = append(lost, strings.TrimSuffix(fmt.Sprintf("%s at %s", m.ID, m.API), " at "))
	}
	fmt.Fprintf(table, "recovered\tat %s from grid %v; members given up: %s\n", moment(time.UnixMilli(r.At)), r.Old,
		orNone(strings.Join(lost, ", ")))
	if len(r.Forgotten) > 0 {
		fmt.Fprintf(table,
			"lost\tevery definition in %s: a name created there with another epoch can repeat IDs\n",
			counted(len(r.Forgotten), "partition"))
	}
	if len(r.Outdated) > 0 {
		fmt.Fprintf(table, "lost\tpossibly the latest definitions in %s\n", counted(len(r.Outdated), "partition"))
	}
}
