package backup

import (
	"errors"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	durableA = roster.Incarnation("aaaaaaaaaaaaaaaa-0000000000000001")
	durableB = roster.Incarnation("bbbbbbbbbbbbbbbb-0000000000000001")
	volatile = roster.Incarnation("cccccccccccccccc-0000000000000001")
)

// disksOf returns member IDs.
func disksOf(members ...roster.Incarnation) []roster.MemberID {
	var out []roster.MemberID
	for _, i := range members {
		out = append(out, i.Member())
	}
	return out
}

// entry is a partition of term 1, the first of whose replicas is the owner.
func entry(disk []roster.MemberID, replicas ...roster.Incarnation) roster.Partition {
	return roster.Partition{Owner: replicas[0], InSync: replicas, Term: 1, LostTerm: 1, Disk: disk}
}

// storedBy is the storage of a partition in a grid with durable members.
func storedBy(p roster.Partition, durable ...roster.Incarnation) roster.Storage {
	s := roster.Storage{Durable: durable}
	s.Next = slices.DeleteFunc(slices.Clone(p.InSync),
		func(i roster.Incarnation) bool { return !slices.Contains(durable, i) })
	s.Needed = s.Next
	return s
}

// TestPersistent: what survives the loss of every replica is on the disk of each durable
// one in sync, and no other disk is named (D2).
func TestPersistent(t *testing.T) {
	type said map[roster.Incarnation]uint64
	all := []roster.Incarnation{durableA, durableB}
	named := disksOf(durableA, durableB)
	for name, test := range map[string]struct {
		disk     []roster.MemberID
		replicas []roster.Incarnation
		durable  []roster.Incarnation
		on       said
		want     bool
	}{
		"both have it":          {named, all, all, said{durableA: 2, durableB: 2}, true},
		"one has less":          {named, all, all, said{durableA: 2, durableB: 1}, false},
		"the owner has less":    {named, all, all, said{durableA: 1, durableB: 2}, false},
		"one has said nothing":  {named, all, all, said{durableA: 2}, false},
		"the owner has nothing": {named, all, all, said{durableB: 2}, false},
		"a volatile one needs none": {disksOf(durableA), []roster.Incarnation{durableA, volatile}, all,
			said{durableA: 2}, true},
		"one more is in sync":      {disksOf(durableA), all, all, said{durableA: 2}, false},
		"another disk is named":    {named, all[:1], all, said{durableA: 2}, false},
		"no disk is named":         {nil, all, all, said{durableA: 2, durableB: 2}, false},
		"no durable replica":       {disksOf(durableA), []roster.Incarnation{volatile}, all, nil, false},
		"none, and none was named": {nil, []roster.Incarnation{volatile}, all, nil, false},
		"no durable member":        {nil, []roster.Incarnation{volatile}, nil, nil, true},
		"none any longer":          {disksOf(durableA), []roster.Incarnation{volatile}, nil, nil, false},
	} {
		a := newActor(test.replicas[0])
		a.replica.Observe(1, entry(test.disk, test.replicas...),
			storedBy(entry(test.disk, test.replicas...), test.durable...))
		a.write("x")
		a.write("y")
		for i, number := range test.on {
			a.replica.StoredBy(i, Position{Term: 1, Number: number})
		}
		if got := a.replica.Persistent(2); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	b := newActor(durableB)
	b.replica.Observe(1, entry(named, all...), storedBy(entry(named, all...), all...))
	if b.replica.Persistent(0) {
		t.Error("a replica that does not act says so")
	}
}

// TestStoredCountsInItsTerm: a write counts, and an owner hears of it, only while its
// term is the newest that is known; a disk that has the next table does not say what it
// had before (D1).
func TestStoredCountsInItsTerm(t *testing.T) {
	all := []roster.Incarnation{durableA, durableB}
	b := newActor(durableB)
	b.replica.Observe(1, entry(nil, all...), storedBy(entry(nil, all...), all...))
	whole := []string{"x"}
	if _, err := b.replica.Accept(diaryUpdate{Version: 1, Position: Position{1, 1}, Whole: &whole}); err != nil {
		t.Fatal(err)
	}
	p, useful := b.replica.Storable()
	if !useful || p != (Position{1, 1}) || b.replica.OnDisk() != (Position{}) {
		t.Fatalf("%v may be stored: %v, and %v is", p, useful, b.replica.OnDisk())
	}
	if !b.replica.Stored(p) || b.replica.OnDisk() != p {
		t.Errorf("after the write %v is on disk", b.replica.OnDisk())
	}
	if _, useful := b.replica.Storable(); useful {
		t.Error("it is stored again")
	}
	b.replica.Heard(2)
	if got := b.replica.OnDisk(); got != (Position{}) {
		t.Errorf("when a later term is known %v is told", got)
	}
	if b.replica.Stored(Position{1, 2}) {
		t.Error("a write of the earlier term counts")
	}
	if _, useful := b.replica.Storable(); useful {
		t.Error("a table of the earlier term is stored")
	}
}

// TestStoredByOthers: of each report the largest number of this term counts, but no number
// that the owner has not made.
func TestStoredByOthers(t *testing.T) {
	all := []roster.Incarnation{durableA, durableB}
	a := newActor(durableA)
	a.replica.Observe(1, entry(disksOf(all...), all...), storedBy(entry(disksOf(all...), all...), all...))
	a.write("x")
	a.replica.Stored(Position{1, 1})
	for _, p := range []Position{{1, 0}, {1, 2}, {0, 1}} {
		if a.replica.StoredBy(durableB, p); a.replica.Persistent(1) {
			t.Fatalf("%v counts for number 1", p)
		}
	}
	a.replica.StoredBy(durableB, Position{1, 1})
	a.replica.StoredBy(durableB, Position{1, 0})
	if !a.replica.Persistent(1) {
		t.Error("a late report of a smaller number replaces a larger one")
	}
	if d := a.replica.Disks(2); !slices.Equal(d.Behind, all) || len(d.Missing) > 0 {
		t.Errorf("number 2 lacks %+v", d)
	}
}

// TestPersistedAtItsVersion: disks are named when each has the table as it was when the
// version was learned, whatever was changed since (D4).
func TestPersistedAtItsVersion(t *testing.T) {
	all := []roster.Incarnation{durableA, durableB}
	a := newActor(durableA)
	a.replica.Observe(1, entry(nil, durableA, durableB, volatile),
		storedBy(entry(nil, durableA, durableB, volatile), all...))
	a.write("x")
	a.replica.Observe(2, entry(nil, durableA, durableB, volatile),
		storedBy(entry(nil, durableA, durableB, volatile), all...))
	a.write("y")
	is := func(want bool, when string) {
		t.Helper()
		if p, ok := a.replica.Persisted(); ok != want ||
			ok && p != (roster.Persisted{Partition: 7, Version: a.replica.Version()}) {
			t.Errorf("%s: %v, %v", when, p, ok)
		}
	}
	is(false, "nothing is on disk")
	a.replica.Stored(Position{1, 1})
	a.replica.StoredBy(durableB, Position{1, 0})
	is(false, "one has an earlier number")
	a.replica.StoredBy(durableB, Position{1, 1})
	is(true, "both have the number of the version")
	a.replica.Observe(3, entry(disksOf(all...), durableA, durableB, volatile),
		storedBy(entry(disksOf(all...), durableA, durableB, volatile), all...))
	a.replica.StoredBy(durableB, Position{1, 2})
	a.replica.Stored(Position{1, 2})
	is(false, "they are named")
	a.replica.Observe(4, entry(disksOf(all...), durableA, volatile),
		storedBy(entry(disksOf(all...), durableA, volatile), all...))
	is(true, "another one is named")
	a.replica.Observe(5, entry(disksOf(durableA), durableA, volatile),
		storedBy(entry(disksOf(durableA), durableA, volatile), all...))
	is(false, "it is named alone")
	a.replica.Heard(2)
	is(false, "a later term is known")
	v := newActor(volatile)
	v.replica.Observe(1, entry(disksOf(durableA), volatile), storedBy(entry(disksOf(durableA), volatile), all...))
	if p, ok := v.replica.Persisted(); ok {
		t.Errorf("without a durable replica: %v", p)
	}
}

// TestMayShow: a disk is shown from the moment on at which the loss is known, and to no
// owner that was replaced (D6).
func TestMayShow(t *testing.T) {
	b := newActor(durableB)
	b.replica.Observe(3, roster.Partition{Owner: durableA, InSync: []roster.Incarnation{durableA}, Term: 2, LostTerm: 2},
		roster.Storage{})
	for _, test := range []struct {
		term, lost roster.Term
		want       error
	}{{2, 2, nil}, {3, 2, nil}, {3, 3, ErrNotYet}, {1, 1, ErrOldTerm}, {2, 0, ErrNotYet}} {
		if err := b.replica.MayShow(test.term, test.lost); !errors.Is(err, test.want) {
			t.Errorf("term %d after loss %d: %v, want %v", test.term, test.lost, err, test.want)
		}
	}
}

// TestJoinerOnDisk: a durable joiner has to have written what admits it.
func TestJoinerOnDisk(t *testing.T) {
	a := newActor(durableA)
	p := entry(nil, durableA)
	p.Joining = durableB
	a.replica.Observe(1, p, storedBy(p, durableA, durableB))
	if a.replica.JoinerOnDisk() {
		t.Error("on disk without a report")
	}
	a.replica.StoredBy(durableB, Position{1, 0})
	if !a.replica.JoinerOnDisk() {
		t.Error("not on disk after a report of the mark")
	}
	p.Joining = volatile
	a.replica.Observe(2, p, storedBy(p, durableA, durableB))
	if !a.replica.JoinerOnDisk() {
		t.Error("a volatile one has to write")
	}
}

// TestReplacedIsSentWhole: after a change of the whole table each replica needs all of it.
func TestReplacedIsSentWhole(t *testing.T) {
	a := newActor("a")
	a.replica.Observe(1, roster.Partition{Owner: "a", InSync: []roster.Incarnation{"a", "b"}, Term: 1, LostTerm: 1},
		roster.Storage{})
	a.replica.Acknowledged("b", 1, Position{Term: 1})
	a.write("x")
	a.diary.lines = []string{"all"}
	a.replica.Replaced()
	if u, due := a.replica.Update("b"); !due || u.Whole == nil || !slices.Equal(*u.Whole, []string{"all"}) {
		t.Errorf("b is sent %+v", u)
	}
}
