package leader

import (
	"context"
	"testing"
	"time"
)

// TestTablesOfAMemberThatGossipSees: after a restart of a grid, a leader awaits the tables of a member
// that does not answer for longer while gossip sees it alive, before partitions get owners without them
// (R3).
func TestTablesOfAMemberThatGossipSees(t *testing.T) {
	for _, seen := range []bool{true, false} {
		o := lead(t, 3, true)
		r := *o.v.Roster
		r.Restarted = true
		o.v.Roster = &r
		if !seen {
			o.v.Peers = o.v.Peers[:2] // not member 3
		}
		silent := func(m int) error {
			if m == 3 {
				return context.DeadlineExceeded
			}
			return nil
		}
		began := o.v.Mono
		for !o.l.complete(o.v) {
			if o.v.Mono-began > 10*time.Second {
				t.Fatalf("seen %v: not complete after %v", seen, o.v.Mono-began)
			}
			o.step(StepEvery)
			o.answer(forDetection, silent)
		}
		want := suspectAfter + extra(seen)
		if took := o.v.Mono - began; took < want || took > want+time.Second {
			t.Errorf("seen %v: the member's tables are given up after %v, want %v", seen, took, want)
		}
	}
}
