package grid

import (
	"fmt"
	"testing"

	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// TestMembersAskedAreBounded: so many are asked at a time, few that gossip does not
// see, and each once.
func TestMembersAskedAreBounded(t *testing.T) {
	var q inquiries
	named := func(i int) roster.Incarnation { return roster.Incarnation(fmt.Sprint(i)) }
	var ends []func()
	for i := range inquiriesOfUnseen {
		end, room := q.begin(named(i), false)
		if !room {
			t.Fatalf("no room for member %d", i)
		}
		ends = append(ends, end)
	}
	if _, room := q.begin("one more", false); room {
		t.Error("more members are asked that gossip does not see than may be")
	}
	if _, room := q.begin(named(0), true); room {
		t.Error("a member is asked twice at a time")
	}
	for i := inquiriesOfUnseen; i < inquiriesMax; i++ {
		end, room := q.begin(named(i), true)
		if !room {
			t.Fatalf("no room for member %d", i)
		}
		ends = append(ends, end)
	}
	if _, room := q.begin("one more", true); room {
		t.Error("more members are asked than may be")
	}
	for _, end := range ends {
		end()
	}
	if len(q.open) != 0 || q.unseen != 0 {
		t.Errorf("%d are asked, %d of them unseen, after the last", len(q.open), q.unseen)
	}
}

// TestMembersThatAreBelieved: a join counts as the member itself says it, and a leave
// if it says that it leaves.
func TestMembersThatAreBelieved(t *testing.T) {
	grid, record := roster.GridID{1}, roster.Member{Incarnation: ownerInc, API: "a:1", Raft: "a:2", Durable: true}
	other := record
	other.Raft = "b:2"
	for what, c := range map[string]struct {
		hello    wire.HelloResponse
		believed bool
	}{
		"as it says":           {wire.HelloResponse{Grid: grid, Record: record}, true},
		"another address":      {wire.HelloResponse{Grid: grid, Record: other}, false},
		"of another grid":      {wire.HelloResponse{Grid: roster.GridID{2}, Record: record}, false},
		"of no grid":           {wire.HelloResponse{Record: record}, false},
		"says nothing of self": {wire.HelloResponse{Grid: grid}, false},
	} {
		if err := confirmsJoin(record, grid, c.hello); (err == nil) != c.believed {
			t.Errorf("a join, %s: %v", what, err)
		}
	}
	for what, c := range map[string]struct {
		failed   bool
		hello    wire.HelloResponse
		believed bool
	}{
		"it leaves":                          {false, wire.HelloResponse{Leaving: true}, true},
		"it stays":                           {false, wire.HelloResponse{}, false},
		"its disk failed":                    {true, wire.HelloResponse{Leaving: true, DiskFailed: true}, true},
		"it leaves, and its disk is well":    {true, wire.HelloResponse{Leaving: true}, false},
		"its disk failed, and it stays":      {true, wire.HelloResponse{DiskFailed: true}, false},
		"its disk failed, not that it is so": {false, wire.HelloResponse{DiskFailed: true}, false},
	} {
		if err := confirmsLeave(wire.LeaveRequest{Incarnation: ownerInc, Failed: c.failed}, c.hello); (err == nil) != c.believed {
			t.Errorf("a leave, %s: %v", what, err)
		}
	}
}

// TestThoseThatLeftAreForgotten: once a member is out, nothing keeps it from joining.
func TestThoseThatLeftAreForgotten(t *testing.T) {
	m := newMember(Config{Expect: 2})
	defer m.life.Stop()
	m.self = ownerInc
	m.leaves[ownerInc], m.leaves[backupInc], m.failed[backupInc] = true, true, true
	m.forgetLeft(func(roster.Incarnation) bool { return true })
	if !m.leaving(backupInc) || len(m.failedMembers()) != 1 {
		t.Error("a member that is there still is forgotten")
	}
	m.forgetLeft(func(roster.Incarnation) bool { return false })
	if m.leaving(backupInc) || len(m.failedMembers()) != 0 || !m.leaving(ownerInc) {
		t.Error("a member that is out is kept, or the own leave is not")
	}
}
