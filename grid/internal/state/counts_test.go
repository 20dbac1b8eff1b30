package state

import (
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"testing"
)

// TestCountsOfRosterChanges: a change of owner is a move, a takeover or a loss, by the
// standing of the owner before; entries that are read again from a log do not count.
func TestCountsOfRosterChanges(t *testing.T) {
	members := []roster.Member{{Incarnation: "a"}, {Incarnation: "b"}}
	before := &roster.Roster{Version: 1, Members: members, Partitions: []roster.Partition{
		{Owner: "a", Term: 1}, {Owner: "a", Term: 1}, {Owner: "a", Term: 1}, {Term: 0},
	}}
	owners := func(version roster.Version, unsettled ...roster.Incarnation) *roster.Roster {
		return &roster.Roster{Version: version, Members: members, Unsettled: unsettled, Partitions: []roster.Partition{
			{Owner: "b", Term: roster.Term(version)}, {Owner: "a", Term: 1},
			{Owner: "b", Term: roster.Term(version), LostTerm: roster.Term(version)},
			{Owner: "b", Term: roster.Term(version)},
		}}
	}
	tests := []struct {
		name  string
		after *roster.Roster
		want  Counts
	}{
		{"the same version", before, Counts{}},
		{"by plan", owners(2), Counts{Moves: 1, Losses: 1}},
		{"in doubt", owners(2, "a"), Counts{Takeovers: 1, Losses: 1}},
		{"a member less", &roster.Roster{Version: 2, Members: members[:1], Partitions: before.Partitions},
			Counts{Removals: 1}},
		{"another grid", &roster.Roster{Grid: roster.GridID{1}, Version: 2, Partitions: owners(2).Partitions}, Counts{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := New(handles.NewClock(), handles.NewClock())
			s.Apply(before)
			s.Apply(test.after)
			if got := s.Counts(); got != (Counts{}) {
				t.Errorf("before the first raise: %+v", got)
			}
			s.Apply(before)
			s.NoteRaise(1)
			s.Apply(test.after)
			if got := s.Counts(); got != test.want {
				t.Errorf("counted %+v, want %+v", got, test.want)
			}
		})
	}
}
