package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestFullRosterIsRead: a member reads every roster that commands give, at the bounds of
// all of its lists together.
func TestFullRosterIsRead(t *testing.T) {
	r := &roster.Roster{}
	settings := someSettings()
	settings.Partitions = roster.MaxPartitions
	form := roster.Form{Grid: roster.GridID{1}, Settings: settings, Registry: numbers.Registry{Sets: fullSets()}}
	join := roster.Change{}
	for i := range 9 {
		join.Join = append(join.Join, someMember(fmt.Sprintf("%016x-0000000000000001", i+1)))
	}
	for id := range roster.MaxPartitions {
		join.Lose = append(join.Lose, roster.Loss{Partition: roster.PartitionID(id), Owner: join.Join[0].Incarnation,
			With: []roster.Incarnation{join.Join[1].Incarnation, join.Join[2].Incarnation}})
	}
	for _, c := range []roster.Command{{Form: &form}, {From: 1, Change: &join}} {
		next, err := r.Apply(c)
		if err != nil {
			t.Fatal(err)
		}
		r = next
		data, err := wire.EncodeRoster(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wire.DecodeRoster(data); err != nil {
			t.Fatalf("a full roster of %d bytes: %v", len(data), err)
		}
		t.Logf("%d bytes", len(data))
	}
}

// fullSets are as many sets with as many numbers as there may be, with long names.
func fullSets() (sets []numbers.Set) {
	long := strings.Repeat("x", 255)
	each := numbers.MaxNumbered / numbers.MaxSets
	for i := range numbers.MaxSets {
		s := numbers.Set{Cluster: "c", Name: fmt.Sprintf("%0*d", numbers.MaxSetName, i), Next: uint64(each) + 1}
		for id := range each {
			s.Members = append(s.Members, numbers.Process{ID: uint64(id) + 1, Code: numbers.Code{1}, Addr: long, Incarnation: 1,
				Start: numbers.Code{1}, Before: numbers.Code{2}, Member: "00000000000000aa"})
		}
		sets = append(sets, s)
	}
	return sets
}
