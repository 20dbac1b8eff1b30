package raftlog

import (
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestRaisesOfTheLog: a raise that a server receives from the present leader counts as a raise; it may replace an entry
// that was never agreed on. A raise that was in the log at the start, or that an earlier leader wrote, counts for
// nothing. The clocks follow neither.
func TestRaisesOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := formed(t)
		data, err := wire.EncodeCommand(roster.Command{From: r.Version, Raise: &roster.Raise{Time: r.Time + 1000}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			what        string
			index, term uint64
			now         uint64 // Raft's term
			raised      bool
		}{
			{"the last entry of its log", 40, 7, 7, false},
			{"an earlier one", 12, 3, 7, false},
			{"an entry that follows", 41, 7, 7, true},
			{"an entry of a later term, in the place of its own", 35, 9, 9, true},
			{"an entry that follows, of a leader before the present one", 41, 7, 9, false},
		} {
			m := state.New(handles.NewExactClock(), handles.NewExactClock())
			f := fsm{newFollowed(r.Grid, "", m, nil), newDivergence(), raft.Log{Index: 40, Term: 7},
				func() uint64 { return c.now }, func(_, _ *roster.Roster) {}}
			f.followed.install(follow.Image{At: 1, Roster: r})
			if err := f.Apply(&raft.Log{Index: c.index, Term: c.term, Data: data}); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			if raised := m.LastRaise() != nil; m.Clock.Now() != 0 || raised != c.raised {
				t.Errorf("%s: time %d, want 0; counts as raised: %v, want %v", c.what, m.Clock.Now(), raised, c.raised)
			}
		}
	})
}

// formed returns the roster of a grid of one member, whose partitions it owns.
func formed(t *testing.T) *roster.Roster {
	t.Helper()
	const inc = "aaaaaaaaaaaaaaaa-0000000000000001"
	form := roster.Form{Grid: roster.GridID{1}, Ceiling: 1, Settings: roster.Settings{Name: "g", Partitions: 1,
		Window: 15000}}
	r, err := (&roster.Roster{}).Apply(roster.Command{Form: &form})
	if err == nil {
		r, err = r.Apply(roster.Command{From: r.Version, Change: &roster.Change{
			Join: []roster.Member{{Incarnation: inc, API: "a:1"}}, Lose: []roster.Loss{{Partition: 0, Owner: inc}},
		}})
	}
	if err == nil {
		r, err = r.Apply(roster.Command{From: r.Version, Raise: &roster.Raise{Time: 1_000_000}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
