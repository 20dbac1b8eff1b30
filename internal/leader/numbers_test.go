package leader

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestNumbersDuringALead: requests are answered by the roster, by the log, or at the end of the lead.
func TestNumbersDuringALead(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.step(time.Second)
	o.commands = nil
	var said []error
	apply := func(id uint64, code byte) {
		o.l.Numbers(o.v).Request(numbers.Command{Cluster: "c", Name: "web",
			Apply: &numbers.Application{ID: id, Code: numbers.Code{code}}},
			func(out numbers.Outcome) { said = append(said, out.Err) })
	}
	apply(2, 1)
	if len(said) != 1 || !errors.Is(said[0], numbers.ErrIDRefused) || len(o.commands) > 0 {
		t.Fatalf("%v, proposed %+v", said, o.commands)
	}
	apply(1, 1)
	if len(o.commands) != 1 || len(said) != 1 {
		t.Fatalf("%v, proposed %+v", said, o.commands)
	}
	c := o.commands[0]
	next, err := o.v.Roster.Apply(c)
	o.v.Roster = next
	if o.l.Proposed(o.v, c, err); len(said) != 2 || said[1] != nil {
		t.Errorf("by the log: %v", said)
	}
	apply(2, 2)
	if o.l.Resign(); len(said) != 3 || !errors.Is(said[2], ErrNotLeading) {
		t.Errorf("at the end of the lead: %v", said)
	}
}

// TestNumbersOfMembers: a member's process is alive while the roster lists it or gossip sees it.
func TestNumbersOfMembers(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	of := numbers.Process{ID: 1, Member: string(inc(2, 1).Member())}
	want := func(state string, want numbers.Liveness) {
		t.Helper()
		for range 20 {
			o.step(time.Second)
			o.answer(forDetection, all)
		}
		if got := o.l.Numbers(o.v).LivenessOf("c", "web", of); got != want {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
	}
	want("a member", numbers.Alive)
	o.apply(roster.Command{From: o.v.Roster.Version, Change: &roster.Change{Remove: []roster.Incarnation{inc(2, 1)}}})
	want("a member that only gossip sees", numbers.Alive)
	o.unseen(2)
	want("a member that is gone", numbers.Dead)
	o.step(3 * numbers.SignEvery)
	if got := o.l.Numbers(o.v).LivenessOf("c", "web", of); got != numbers.LivenessUnknown {
		t.Errorf("after a pause of the leader: %v", got)
	}
}
