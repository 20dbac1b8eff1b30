package roster_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestFormNamesDisks: a grid that is recovered begins with the disks that have its
// definitions, and they stay named through the loss that gives it owners (D3); what
// names no members in order, or other partitions, is refused.
func TestFormNamesDisks(t *testing.T) {
	const a, b roster.MemberID = "00000000000000aa", "00000000000000bb"
	form := roster.Form{Grid: roster.GridID{1}, Settings: roster.Settings{Name: "g", Partitions: 2, Window: 15000}}
	for what, disks := range map[string][][]roster.MemberID{
		"of one partition of two": {{a}}, "no member": {{a}, {"orders"}}, "out of order": {{b, a}, nil},
		"twice": {{a, a}, nil},
	} {
		form.Disks = disks
		if _, err := new(roster.Roster).Apply(roster.Command{Form: &form}); !errors.Is(err, roster.ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", what, err)
		}
	}
	form.Disks = [][]roster.MemberID{{a, b}, nil}
	r, err := new(roster.Roster).Apply(roster.Command{Form: &form})
	if err != nil {
		t.Fatal(err)
	}
	member := roster.Member{Incarnation: roster.Incarnation(a) + "-0000000000000001", Durable: true}
	r, err = r.Apply(roster.Command{From: r.Version, Change: &roster.Change{
		Join: []roster.Member{member}, Lose: []roster.Loss{{Partition: 0, Owner: member.Incarnation},
			{Partition: 1, Owner: member.Incarnation}},
	}})
	if err != nil || !slices.Equal(r.Partitions[0].Disk, []roster.MemberID{a, b}) || len(r.Partitions[1].Disk) > 0 {
		t.Errorf("after the loss the disks of %+v: %v", r.Partitions, err)
	}
	if r.Awaited(0) != nil || r.Awaited(1) != nil {
		t.Errorf("awaited are %v and %v", r.Awaited(0), r.Awaited(1))
	}
}
