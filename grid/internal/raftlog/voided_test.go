package raftlog

import (
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
	"strings"
	"testing"
	"testing/synctest"
)

// TestVoidedClaims: a process that has given up its claims serves no roster of them again, whether it
// comes by the log, a snapshot or a push; it serves those of a later claim (B2).
func TestVoidedClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const self = roster.Incarnation("aaaaaaaaaaaaaaaa-0000000000000001") // the member of formed
		s := state.New(handles.NewExactClock(), handles.NewExactClock())
		claim := func(digit string) roster.Claim { return roster.Claim(strings.Repeat(digit, 32)) }
		a, b, c, gone := claim("a"), claim("b"), claim("c"), claim("e")
		under := func(of roster.Claim, v roster.Version) *roster.Roster {
			r := *formed(t)
			r.Claim, r.Version, r.Anchored = of, v, of != ""
			return &r
		}
		first := newFollowed(under("", 0).Grid, self, s, claimsSeen{gone: 8})
		first.install(follow.Image{At: 5, Roster: under(a, 5)})
		first.install(follow.Image{At: 6, Roster: under(b, 6)})
		s.Reset()
		f := newFollowed(under("", 0).Grid, self, s, first.served())
		f.install(follow.Image{At: 5, Roster: under(a, 5)})
		f.install(follow.Image{At: 6, Roster: under(b, 6)})
		raise := roster.Command{From: 6, Claim: b, Raise: &roster.Raise{Time: 2_000_000}}
		if _, after, err := f.commit(7, raise, true); err != nil || after.Time != 2_000_000 {
			t.Errorf("the log: %+v, %v", after, err)
		}
		if _, err := f.push(nil, follow.Image{At: 8, Roster: under(gone, 8)}, 2_000_000); err != nil {
			t.Error(err)
		}
		if s.Roster().Formed() || s.LastRaise() != nil || s.Clock.Now() != 0 {
			t.Errorf("a roster of a voided claim is served: %+v", s.Roster())
		}
		f.install(follow.Image{At: 9, Roster: under(c, 9)})
		if s.Roster().Claim != c {
			t.Errorf("%+v", s.Roster())
		}
	})
}

// TestVoidedClaimEnds: a claim that was given up is served again from the first roster that lacks the member and is
// later than all that were served before.
func TestVoidedClaimEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := state.New(handles.NewExactClock(), handles.NewExactClock())
		claim := roster.Claim(strings.Repeat("a", 32))
		lists := formed(t)
		self := lists.Members[0].Incarnation
		f := newFollowed(lists.Grid, self, s, claimsSeen{claim: 6})
		for _, step := range []struct {
			version roster.Version
			member  bool
			serves  bool
		}{{5, false, false}, {6, false, false}, {7, true, false}, {8, false, true}, {9, true, true}} {
			r := *lists
			r.Claim, r.Version, r.Anchored = claim, step.version, true
			if !step.member {
				r.Members = nil
			}
			f.install(follow.Image{At: follow.Position(step.version), Roster: &r})
			if serves := s.Roster().Version == step.version; serves != step.serves {
				t.Errorf("version %d, with the member %v: served %v", step.version, step.member, serves)
			}
		}
		if v, seen := f.served()[claim]; !seen || v != 9 {
			t.Errorf("the newest version that was served is %d", v)
		}
	})
}
