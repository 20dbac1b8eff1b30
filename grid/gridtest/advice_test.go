package gridtest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestAdvice: without a majority of voters the status and the log say what to do,
// once; an ordinary election says nothing.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		durable bool
		alive   string
		want    string
	}{
		"durable": {true, "1 of 3 voters is alive",
			"Start these members again with their data directories, or restore the network to them: "},
		"memory": {false, "0 of 1 voter is alive", "run `snowgrid init --force --addr "},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log logged
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: c.durable, Logger: log.logger()})
				leader := g.Leader()
				g.Crash(leader)
				time.Sleep(20 * time.Second)
				for _, name := range g.Running() {
					if advice := g.Member(name).Status().Advice; advice != "" && c.durable {
						t.Errorf("advice of %s after an election: %q", name, advice)
					}
				}
				if c.durable {
					g.StartMembers(leader)
					time.Sleep(20 * time.Second)
				}
				if lines := log.lines("level=ERROR", "voters"); len(lines) != 0 {
					t.Errorf("errors after an election: %q", lines)
				}
				before := g.Running()
				last := loseMajority(t, g, 1)
				status := g.Member(g.Running()[0]).Status()
				for _, part := range []string{"quorum lost: ", c.alive, c.want, last.UTC().Format(time.RFC3339)} {
					if !strings.Contains(status.Advice, part) {
						t.Errorf("the advice lacks %q: %s", part, status.Advice)
					}
				}
				t.Log(status.Advice)
				time.Sleep(time.Minute)
				if lines := log.lines("level=ERROR", "quorum lost"); len(lines) != 1 {
					t.Errorf("%d errors say it, want 1: %q", len(lines), lines)
				}
				if !c.durable {
					return
				}
				for _, name := range before {
					if name != g.Running()[0] && len(g.Running()) < 2 {
						g.StartMembers(name)
					}
				}
				time.Sleep(10 * time.Second)
				if advice := g.Member(g.Running()[0]).Status().Advice; advice != "" {
					t.Errorf("advice when the majority is back: %q", advice)
				}
				if lines := log.lines("level=INFO", "quorum restored"); len(lines) != 1 {
					t.Errorf("%d lines say that it has ended, want 1", len(lines))
				}
			})
		})
	}
}
