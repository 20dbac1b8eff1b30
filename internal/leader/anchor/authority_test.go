package anchor

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestRefusedExtensions: who may not extend which record, and how far (A6).
func TestRefusedExtensions(t *testing.T) {
	d := newDesk(t)
	d.step(0)
	own := Seen{Record: d.record, Revision: "1"}
	foreign := own
	foreign.Record.Claim = claim(900)
	stranger := Authority{Self: self(2)}
	for name, test := range map[string]struct {
		a    *Authority
		seen Seen
		to   clustertime.Tick
	}{
		"by another than a member": {&stranger, own, began + 1},
		"of another claim":         {&d.m.Authority, foreign, began + 1},
		"no further":               {&d.m.Authority, own, began},
		"downward":                 {&d.m.Authority, own, began - 1},
	} {
		if s, err := test.a.Extend(d.v.Roster, test.seen, test.to, d.v.Draw); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if s, err := d.m.Extend(d.v.Roster, own, began+1, d.v.Draw); err != nil || s.Record.Claim != d.record.Claim ||
		s.Revision != "1" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestLimitOfAMemberAlone: a leader that is not in the roster may raise nothing, whatever
// it has seen (A2, A3).
func TestLimitOfAMemberAlone(t *testing.T) {
	d := newDesk(t)
	d.step(0)
	stranger := Authority{Self: self(2)}
	stranger.Saw(d.v.Roster, d.record)
	if got := stranger.Limit(d.v.Roster); got != 0 {
		t.Errorf("another process may raise to %d", got)
	}
	if got := d.m.Limit(d.v.Roster); got != d.record.Ceiling {
		t.Errorf("the leader may raise to %d, and the record says %d", got, d.record.Ceiling)
	}
}

// TestResetAtItsVersionAlone: a take counts for the roster that it was made for.
func TestResetAtItsVersionAlone(t *testing.T) {
	d := newDesk(t)
	a := Authority{Self: self(1)}
	s, err := a.Take(d.v.Roster, Seen{}, Draw{Claim: claim(1), Nonce: "n"})
	if err != nil {
		t.Fatal(err)
	}
	if _, due := a.Reset(d.v.Roster, roster.Member{Incarnation: a.Self}); due {
		t.Fatal("reset before the take is known to have happened")
	}
	a.Landed(d.v.Roster, s)
	d.apply(roster.Command{From: d.v.Roster.Version, Change: &roster.Change{Window: 2 * window}})
	if c, due := a.Reset(d.v.Roster, roster.Member{Incarnation: a.Self}); due {
		t.Errorf("%+v for a later version", c)
	}
}
