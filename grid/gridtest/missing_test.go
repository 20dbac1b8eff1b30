package gridtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
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
			!strings.Contains(text, "1 member, and 3 are expected") || !grid.Degraded(grid.Alerts(s)) {
			t.Errorf("alone it says %q: %v", text, grid.Alerts(s))
		}
	})
}

// TestNamesOutliveAStop: a member that was dead when the others were killed has its name when those run again, also if
// a stored file of names is damaged.
func TestNamesOutliveAStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dirs, log := map[string]string{}, &recorder{}
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Logger: log.logger(),
			Change: func(name string, c *grid.Config) { dirs[name] = c.DataDir }})
		time.Sleep(30 * time.Second)
		g.Crash("m3")
		time.Sleep(time.Minute)
		g.Crash("m1", "m2")
		g.StartMembers("m1", "m2")
		time.Sleep(time.Minute)
		s := g.Member("m1").Status()
		if text := alertText(s, "quorum_at_risk"); len(s.Absent) != 1 || s.Absent[0].Name != "m3" ||
			!strings.Contains(text, "m3 (") {
			t.Errorf("after the restart: %+v, %s", s.Absent, text)
		}
		g.Crash("m1", "m2")
		file := filepath.Join(dirs["m1"], "names.json")
		data, err := os.ReadFile(file)
		ok(t, "read", err)
		data[len(data)/2] ^= 1
		ok(t, "damage", os.WriteFile(file, data, 0o600))
		g.StartMembers("m1", "m2")
		time.Sleep(time.Minute)
		if log.count("stored names of members not read: members that are dead now have none") != 1 {
			t.Error("no warning about the damaged file")
		}
		if name := g.Member("m2").Status().Absent[0].Name; name != "m3" {
			t.Errorf("m3 is %q", name)
		}
		again, err := os.ReadFile(file)
		ok(t, "read again", err)
		if _, err := durable.Unseal(again); err != nil {
			t.Errorf("the file was not replaced: %v", err)
		}
	})
}

// missing returns the alert about missing members, at the first running member.
func missing(g *gridtest.Grid) string {
	return alertText(g.Member(g.Running()[0]).Status(), "members_missing")
}

// TestFormedNumberSurvives: a grid of three is started again with no Expect, and without one of the
// members: it still misses that one. Members that join and stop change nothing; the operator does.
func TestFormedNumberSurvives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		formed := false
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
			if formed {
				c.Expect = 0
			}
		}})
		formed = true
		g.StartMembers("m4")
		g.Leave("m4")
		g.Crash(g.Running()...)
		g.StartMembers("m1", "m2")
		time.Sleep(time.Minute)
		if text := missing(g); !strings.Contains(text, "2 members, and 3 are expected") ||
			!strings.Contains(text, "`snowgrid settings set expect=2`") {
			t.Errorf("of two of three: %q", text)
		}
		g.StartMembers("m3")
		time.Sleep(30 * time.Second)
		if text := missing(g); text != "" {
			t.Errorf("of all: %s", text)
		}
		removeMember(t, g, "m1", "m3")
		time.Sleep(time.Minute)
		if text := missing(g); text != "" || g.Member("m1").Status().Settings.Expect != 2 {
			t.Errorf("after m3 was removed: %q", text)
		}
		if got := setSettings(t, g, "m2", `{"expect":4}`); got.Expect != 4 {
			t.Errorf("%+v", got)
		}
		eventually(t, time.Minute, "2 members, and 4 are expected", func() bool {
			return strings.Contains(missing(g), "2 members, and 4 are expected")
		})
	})
}

// removeMember has an operator remove a member, asked at another one.
func removeMember(t *testing.T, g *gridtest.Grid, at, name string) {
	t.Helper()
	var out wire.RemoveResponse
	id := roster.Incarnation(g.Member(name).Status().Answering).Member()
	ok(t, "remove "+name, callMember(t, g, at, wire.PathRemove, wire.RemoveRequest{Member: id}, &out))
}

// TestFormedNumberSurvivesInit: the survivors of a grid without data directories form another one,
// which misses the lost members. The others are lost as soon as the grid is formed, so in one round of
// some fifty a survivor has not received the other one's announcement of its grid.
func TestFormedNumberSurvivesInit(t *testing.T) {
	t.Parallel()
	for range long.Or(3, 12) {
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.Start(t, gridtest.Config{Members: 5})
			loseMajority(t, g, 2)
			out, err := initAt(t, g, g.Running()[0], time.Time{})
			ok(t, "init", err)
			time.Sleep(time.Minute)
			if text := missing(g); out.Members != 2 || !strings.Contains(text, "2 members, and 5 are expected") {
				t.Errorf("%d members form it: %q", out.Members, text)
			}
		})
	}
}
