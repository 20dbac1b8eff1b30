package gridtest_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestMembersHaveNames: every member knows the names of all, and a log line about a member
// that is gone has its name.
func TestMembersHaveNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuffer{}
		g := gridtest.Start(t, gridtest.Config{Members: 3, Logger: slog.New(slog.NewTextHandler(log, nil))})
		names := func(member string) string {
			var out []string
			for _, m := range g.Member(member).Members() {
				out = append(out, m.Name)
			}
			return strings.Join(slices.Sorted(slices.Values(out)), " ")
		}
		awaitTrue(t, "all names are known", func() bool {
			return names("m1") == "m1 m2 m3" && names("m2") == "m1 m2 m3" && names("m3") == "m1 m2 m3"
		})
		s := g.Member("m2").Status()
		leader := ""
		for _, m := range s.Members {
			if m.Leader {
				leader = m.Name
			}
		}
		if s.AnsweringName != "m2" || s.LeaderName != leader || leader == "" {
			t.Errorf("answered by %q, leader %q, want m2 and %q", s.AnsweringName, s.LeaderName, leader)
		}
		gone := "m1"
		if leader == gone {
			gone = "m3"
		}
		g.Crash(gone)
		awaitTrue(t, "the crash is logged with the name", func() bool {
			return log.count(`msg="member removed"`) > 0 && log.count(`removed="`+gone+" (") > 0
		})
	})
}

// awaitTrue waits in the bubble's time until something holds, for a minute at most.
func awaitTrue(t *testing.T, event string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", event)
		}
	}
}
