package main

import (
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
)

// TestMemberID: each name that the status lists leads to its member, also the name of a gone member.
func TestMemberID(t *testing.T) {
	s := grid.Status{
		Version: 1,
		Members: []grid.MemberInfo{
			{Incarnation: "00000000000000aa-0000000000000001", Name: "a", API: "10.0.0.1:7948"},
		},
		Absent: []grid.AbsentVoter{{ID: "00000000000000bb", Name: "b"}},
		Disks: []grid.DiskInfo{
			{Member: "00000000000000aa", Name: "a", Runs: true}, {Member: "00000000000000a1", Name: "a"},
			{Member: "00000000000000bb", Name: "b"},
			{Member: "00000000000000c1", Name: "c"}, {Member: "00000000000000c2", Name: "c"},
		},
	}
	for _, c := range []struct{ named, id, text string }{
		{"a", "00000000000000aa", ""},
		{"10.0.0.1:7948", "00000000000000aa", ""},
		{"b", "00000000000000bb", ""},
		{"c", "", "2 members are named \"c\": give one of the IDs 00000000000000c1, 00000000000000c2"},
		{"d", "", "no member is named \"d\""},
		{"", "", "no member is named"},
	} {
		id, err := memberID(s, c.named)
		if string(id) != c.id || (err != nil) != (c.text != "") ||
			err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %q, %v", c.named, id, err)
		}
	}
}

// TestMemberIDInNoGrid: while the grid forms it has no members, so a name may be right.
func TestMemberIDInNoGrid(t *testing.T) {
	_, err := memberID(grid.Status{NotReady: "3 members are expected to form the grid"}, "m9")
	const want = `no member is named "m9" yet: the grid is not formed: 3 members are expected to form the grid`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
