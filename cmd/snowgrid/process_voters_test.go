//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestZoneKilled: six agents without disks in three zones, five of which vote. Both agents
// of a zone, two of the five voters, are killed at the same moment while clients take IDs:
// no holder waits, and no table or definition is lost. Then an operator takes a member out,
// whose agent ends.
func TestZoneKilled(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	g := &seats{t: t, more: []string{"--expect", "6", "--voters", "5", "--backups", "1", "--window", "6s"}}
	for i := range 6 {
		g.add().more = []string{"--zone", "zone-" + strconv.Itoa(i%3)}
	}
	for _, s := range g.all {
		s.dir = "" // memory only
	}
	g.startAll()
	ready := func(s grid.Status) string {
		voters := 0
		for _, z := range s.Zones {
			voters += z.Voters
		}
		if len(s.Members) != 6 || !s.Settled || len(s.Zones) != 3 || voters != 5 || s.OneZone > 0 || s.Settings.Voters != 5 {
			return "zones " + strconv.Itoa(len(s.Zones)) + ", voters " + strconv.Itoa(voters) + ", in one zone " +
				strconv.Itoa(s.OneZone)
		}
		return ""
	}
	s := awaitStatus(t, g.all[0].api, ready)
	c := newCrew(t, newChecker(), g.apisBut(), 2, 4)
	if _, _, stderr := command(t, "next", "unused", "--addr", g.all[0].api); !strings.HasPrefix(stderr,
		"snowgrid: created sequencer") {
		t.Fatal(stderr)
	}
	for _, h := range c.hands { // a grid without disks begins with a wait
		h.before = h.Stats().GrantWaits
	}
	lost := lostTerms(s)

	// A zone with two voters; that of the leader if it has them.
	i := slices.IndexFunc(s.Zones, func(z grid.ZoneInfo) bool { return z.Voters == 2 && z.Zone == zoneOf(s, s.Leader) })
	if i < 0 {
		i = slices.IndexFunc(s.Zones, func(z grid.ZoneInfo) bool { return z.Voters == 2 })
	}
	var gone, stay []*seat
	for _, at := range g.all {
		if at.more[1] == s.Zones[i].Zone {
			gone = append(gone, at)
		} else {
			stay = append(stay, at)
		}
	}
	for _, at := range gone {
		at.signal(os.Kill)
	}
	for _, at := range gone {
		_ = at.exit()
	}
	took := c.stranger(g.apisBut(gone...), "name-0")
	s = awaitStatus(t, strings.Join(g.apisBut(gone...), ","), func(s grid.Status) string {
		if len(s.Members) != 4 || !s.Settled {
			return strconv.Itoa(len(s.Members)) + " members; " + s.NotSettled
		}
		if len(s.Unreachable)+len(s.Unlisted) > 0 {
			return fmt.Sprintf("the list lacks the sequencers of %v and of partitions %v", s.Unreachable, s.Unlisted)
		}
		return ""
	})
	c.calm("after a zone was killed")
	awaitStatus(t, strings.Join(g.apisBut(gone...), ","), c.kept)
	for id, term := range lostTerms(s) {
		if term != lost[id] {
			t.Errorf("partition %d lost its table in term %d", id, term)
		}
	}
	if _, known := sequencerIn(s, "unused"); !known {
		t.Error("a sequencer without holders is forgotten")
	}
	t.Logf("first ID of a new client after %v", took)

	out := stay[0]
	addr := strings.Join(g.apisBut(append(gone, out)...), ",")
	status, stdout, stderr := command(t, "members", "remove", out.api, "--addr", addr, "--timeout", "30s")
	if status != exitDone || !strings.Contains(stdout, "has left the grid") {
		t.Errorf("members remove: status %d, %s%s", status, stdout, stderr)
	}
	if status := out.exit(); status != exitDone {
		t.Errorf("the agent that was taken out ended with status %d; stderr:\n%s", status, tail(out.stderr.String()))
	}
	if status, _, stderr := command(t, "members", "remove", "nowhere", "--addr", addr); status == exitDone ||
		!strings.Contains(stderr, "no member is named") {
		t.Errorf("an unknown member: status %d, %s", status, stderr)
	}
	c.calm("after a member was taken out")
	c.end()
	c.unique()
	t.Log(c.count())
}

// zoneOf returns the zone of an incarnation.
func zoneOf(s grid.Status, incarnation string) string {
	for _, m := range s.Members {
		if m.Incarnation == incarnation {
			return m.Zone
		}
	}
	return ""
}
