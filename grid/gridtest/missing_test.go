package gridtest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// alertText returns the text of an alert of a status, "" if it is not there.
func alertText(s grid.Status, name string) string {
	for _, a := range grid.Alerts(s) {
		if a.Name == name {
			return a.Text
		}
	}
	return ""
}

// TestMissingMembersAreNamed: a grid of three of which one was killed and then one left is not well, and
// says which members are gone, by name, also when their processes have been forgotten otherwise.
func TestMissingMembersAreNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		time.Sleep(30 * time.Second)
		if text := alertText(g.Member("m1").Status(), "members_missing"); text != "" {
			t.Errorf("with all members: %s", text)
		}
		g.Crash("m3")
		time.Sleep(time.Minute)
		s := g.Member("m1").Status()
		for _, name := range []string{"quorum_at_risk", "members_missing"} {
			if text := alertText(s, name); !strings.Contains(text, "m3 (") {
				t.Errorf("%s does not name m3: %q", name, text)
			}
		}
		if len(s.Absent) != 1 || s.Absent[0].Name != "m3" || s.Absent[0].ID != s.AbsentVoters[0] ||
			!strings.HasSuffix(s.Absent[0].Raft, ":7947") {
			t.Errorf("absent: %+v", s.Absent)
		}
		for _, d := range s.Disks {
			if !strings.HasPrefix(d.Name, "m") {
				t.Errorf("the disk of %s has no name", d.Member)
			}
		}
		g.Leave("m2")
		time.Sleep(time.Minute)
		s = g.Member("m1").Status()
		if text := alertText(s, "members_missing"); len(s.Members) != 1 ||
			!strings.Contains(text, "1 members, and 3 are expected") || !grid.Degraded(grid.Alerts(s)) {
			t.Errorf("alone it says %q: %v", text, grid.Alerts(s))
		}
	})
}
