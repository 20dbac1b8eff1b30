package leader

import (
	"errors"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestLeaverPassesItsLeadFirst: a leader that leaves stays a member until another one leads, or
// the lead could not be passed on. Alone, or with others that all leave, it does not wait.
func TestLeaverPassesItsLeadFirst(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *office)
		parts  bool
	}{
		"another voter stays": {func(*office) {}, false},
		"a member stays that is not a voter": {func(o *office) {
			for i := range o.v.Servers[1:] {
				o.v.Servers[1+i].Voter = false
			}
		}, false},
		"none takes the lead": {func(o *office) {
			o.step(0)
			if len(o.take(forSuccession)) > 0 {
				t.Error("a new leader passes the lead on before it can have heard who leaves")
			}
			o.step(StepEvery)
			o.answer(forSuccession, func(int) error { return errors.New("no answer") })
		}, true},
		"all leave":            {func(o *office) { o.v.Peers[1].Leaving, o.v.Peers[2].Leaving = true, true }, false},
		"gossip sees no other": {func(o *office) { o.v.Peers = o.v.Peers[:1] }, true},
		"the others have said it here": {func(o *office) {
			o.l.admission.leaves[inc(2, 1)], o.l.admission.leaves[inc(3, 1)] = true, true
		}, false},
		"the others have left": {func(o *office) {
			o.v.Peers[1].Leaving, o.v.Peers[2].Leaving = true, true
			o.apply(roster.Command{From: o.v.Roster.Version,
				Change: &roster.Change{Remove: []roster.Incarnation{inc(2, 1), inc(3, 1)}}})
		}, true},
	} {
		o := lead(t, 3, true)
		o.v.Leaving = true
		c.change(o)
		if got := slices.Contains(o.l.succession.parting(o.v, o.l.admission.leavers(o.v), o.l.anchoring.machine != nil),
			inc(1, 1)); got != c.parts {
			t.Errorf("%s: leaves the roster %v, want %v", name, got, c.parts)
		}
	}
}

// TestLeaverTakesNoAnchor: a leader that has left the roster of an anchored grid passes its lead,
// and neither reads the record nor registers again. It does if no voter stays: nothing would ever
// be granted again.
func TestLeaverTakesNoAnchor(t *testing.T) {
	for _, c := range []struct{ members, reads int }{{3, 0}, {2, 1}} {
		o := anchoredLead(t, c.members, false, false)
		o.v.Leaving, o.l.succession.yielded = true, true
		for range 30 {
			o.step(StepEvery)
		}
		if len(o.commands) > 0 || len(o.records) != c.reads {
			t.Errorf("%d members: commands %+v, steps of the record %+v", c.members, o.commands, o.records)
		}
	}
}

// TestLeaverStaysAfterItsReset: a leader that registered again, for want of another voter, stays
// until another one leads. Else it would leave and register again without end.
func TestLeaverStaysAfterItsReset(t *testing.T) {
	o := anchoredLead(t, 2, false, false)
	o.v.Leaving, o.l.succession.yielded = true, true
	o.step(StepEvery)
	o.seen(anchor.Record{Claim: claim1, Ceiling: start - 1, Holder: inc(1, 1)})
	for range 10 {
		o.step(StepEvery)
		if len(o.records) > 0 {
			o.seen(anchor.Record{})
		}
		if len(o.commands) > 0 && o.commands[0].Reset != nil {
			break
		}
	}
	if len(o.commands) != 1 || o.commands[0].Reset == nil {
		t.Fatalf("commands %+v, want a reset", o.commands)
	}
	reset := o.commands[0]
	o.apply(reset)
	o.l.Proposed(o.v, reset, nil)
	if out := o.l.succession.parting(o.v, o.l.admission.leavers(o.v), o.l.anchoring.machine != nil); slices.Contains(out,
		inc(1, 2)) {
		t.Errorf("it leaves again: %v", out)
	}
}
