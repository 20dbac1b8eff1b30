package partition_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// serving returns members that serve a partition with all their disks named: the first
// is the owner.
func serving(t *testing.T, durable ...bool) *machines {
	n := newMachines(t, durable...)
	var replicas []int
	for i := range durable {
		replicas = append(replicas, i)
	}
	n.begin(replicas...)
	n.run()
	return n
}

// take makes another member the owner; the others named stay in sync.
func (n *machines) take(owner int, without ...int) {
	n.t.Helper()
	c := roster.Change{Take: []roster.Replica{{Member: n.members[owner].inc}}}
	for _, i := range without {
		c.Remove = append(c.Remove, n.members[i].inc)
	}
	n.change(c)
}

// drop takes replicas out of sync; their disks are struck if they are dead.
func (n *machines) drop(i int, dead bool) {
	n.t.Helper()
	c := roster.Change{Drop: []roster.Replica{{Member: n.members[i].inc}}}
	if dead {
		c.Strike = []roster.MemberID{n.members[i].id}
	}
	n.change(c)
}

// restart ends processes and starts them again; the roster has the new incarnations
// as replicas after a loss, the first of them as the owner.
func (n *machines) restart(replicas ...int) {
	n.t.Helper()
	for _, i := range replicas {
		n.members[i].start()
	}
	n.lose(replicas...)
}

func claimOf(n *machines, r attachment.Ref, id byte, v roster.Version) partition.Claim {
	c := claim(r, id)
	c.Version, c.Grid = v, n.roster.Grid
	return c
}

// renew shows an attachment to a member and returns what became of it.
func (n *machines) renew(i int, h attachment.HolderID, c partition.Claim) (replied bool, err error) {
	m := n.members[i]
	m.machine.Renew(m.view(), h, []partition.Claim{c}, func(out []partition.Renewed, e error) {
		if replied, err = true, e; e == nil {
			err = out[0].Err
		}
	})
	n.carry("deliver", "answer")
	return replied, err
}

// attach gives a holder a logical node.
func (n *machines) attach(i int, h attachment.HolderID, c partition.Claim) (a attachment.Attachment, err error) {
	m := n.members[i]
	m.machine.Attach(m.view(), h, c, func(got attachment.Attachment, e error) { a, err = got, e })
	n.carry("deliver", "answer")
	return a, err
}

// TestFirstDisksAreNamed: in a grid with durable members nothing is answered before
// the roster names the disks that have it: a loss would forget it else.
func TestFirstDisksAreNamed(t *testing.T) {
	n := newMachines(t, true, true)
	n.begin(0, 1)
	c := n.create(0, "orders")
	n.carry()
	c.is(false, nil)
	if !n.settle() || !slices.Equal(n.named(), []int{0, 1}) {
		t.Errorf("the disks of %v are named", n.named())
	}
	n.carry()
	c.is(true, nil)
}

// TestCreateWaitsForEachDisk: memory is not enough, nor is one disk, and the owner's
// counts like any other (D2).
func TestCreateWaitsForEachDisk(t *testing.T) {
	for _, late := range []int{0, 1} {
		n := serving(t, true, true)
		c := n.create(0, "orders")
		n.carry("deliver", "answer")
		c.is(false, nil)
		written := slices.Clone(n.mail)
		n.mail = nil
		for _, l := range written {
			if l.what == "write" && l.from == n.members[1-late].inc {
				l.carry()
				n.carry()
			}
		}
		c.is(false, nil)
		for _, l := range written {
			if l.what == "write" && l.from == n.members[late].inc {
				l.carry()
			}
		}
		n.carry()
		c.is(true, nil)
		if len(n.members[0].disk) != 1 || len(n.members[1].disk) != 1 {
			t.Error("it was answered and is not on both disks")
		}
	}
}

// TestOpenAndDestroyWaitForDisks: what tells of a name rests on the disks as much as its
// create, and so does the answer to a destroy (D2).
func TestOpenAndDestroyWaitForDisks(t *testing.T) {
	n := serving(t, true, true)
	first := n.create(0, "orders")
	again, opened, absent := n.create(0, "orders"), n.open(0, "orders"), n.open(0, "nothing")
	n.carry("deliver", "answer")
	for _, o := range []*outcome{first, again, opened, absent} {
		o.is(false, nil)
	}
	n.run()
	first.is(true, nil)
	again.is(true, nil)
	opened.is(true, nil)
	absent.is(true, sequencer.ErrNotFound)
	end := n.destroy(0, "orders")
	n.carry("deliver", "answer")
	gone := n.open(0, "orders")
	n.carry("deliver", "answer")
	end.is(false, nil)
	gone.is(false, nil)
	n.carry()
	end.is(true, nil)
	gone.is(true, sequencer.ErrNotFound)
	for i, m := range n.members {
		if !m.disk["orders"].Destroyed {
			t.Errorf("disk %d does not have the end", i)
		}
	}
}

// TestDestroyThatTakesItsTime: a holder that gives nothing back delays the end of its
// life, and the answer waits for the disks that have the end (D2).
func TestDestroyThatTakesItsTime(t *testing.T) {
	n := serving(t, true, true)
	c := n.create(0, "orders")
	n.run()
	if _, err := n.attach(0, "h", claimOf(n, c.ref, 1, n.roster.Version)); err != nil {
		t.Fatal(err)
	}
	end := n.destroy(0, "orders")
	n.run()
	end.is(false, nil)
	n.tick(time.Second)
	n.carry("deliver", "answer")
	end.is(false, nil)
	n.carry()
	end.is(true, nil)
}

// TestMemoryOnly: without durable members nothing waits for a disk, and none is named.
func TestMemoryOnly(t *testing.T) {
	n := newMachines(t, false, false)
	n.begin(0, 1)
	c := n.create(0, "orders")
	n.carry()
	c.is(true, nil)
	if len(n.settled) > 0 || len(n.members[0].disk)+len(n.members[1].disk) > 0 {
		t.Errorf("the leader was told %v, and disks were written", n.settled)
	}
	n.restart(0, 1)
	n.learn(0, 1)
	o := n.open(0, "orders")
	n.carry()
	o.is(true, sequencer.ErrNotFound)
}

// TestMixedReplicas: a memory-only replica has to acknowledge each change, too.
func TestMixedReplicas(t *testing.T) {
	n := serving(t, true, false)
	c := n.create(0, "orders")
	n.carry("write", "stored")
	c.is(false, nil)
	n.carry()
	c.is(true, nil)
	if !slices.Equal(n.named(), []int{0}) {
		t.Errorf("the disks of %v are named", n.named())
	}
}

// TestNoDurableReplica: when the last durable replica has gone, answers wait until there
// is another one, and say so (D11).
func TestNoDurableReplica(t *testing.T) {
	n := serving(t, true, false)
	n.take(1, 0)
	n.learn(1)
	c := n.create(1, "orders")
	n.run()
	c.is(false, nil)
	n.tick(2 * time.Second)
	c.is(true, sequencer.ErrUnavailable)
	if id := string(n.members[0].id); !strings.Contains(c.err.Error(), id) ||
		!strings.Contains(c.err.Error(), "snowgrid forget") {
		t.Errorf("the error names neither %s nor what to do: %v", id, c.err)
	}
}

// TestNamedDiskOfAnotherDelays: as long as the roster names a disk that belongs to no
// replica, no reply leaves: the next owner may take the definitions from there (D2).
func TestNamedDiskOfAnotherDelays(t *testing.T) {
	n := serving(t, true, true)
	n.drop(1, false)
	n.learn(0, 1)
	n.run()
	if !slices.Equal(n.named(), []int{0, 1}) {
		t.Fatalf("after an orderly leave the disks of %v are named", n.named())
	}
	c := n.create(0, "orders")
	n.carry()
	c.is(false, nil)
	if !n.settle() || !slices.Equal(n.named(), []int{0}) {
		t.Errorf("with a create that waits, the disks of %v are named", n.named())
	}
	n.carry()
	c.is(true, nil)
}

// TestLeavingReplicaIsReplaced: where only one of two replicas in sync has a named disk,
// the other's is named without any create that waits for it: the one that leaves may go
// then, and its disk with it.
func TestLeavingReplicaIsReplaced(t *testing.T) {
	n := newMachines(t, true, true, true)
	n.begin(0, 1)
	n.run()
	n.drop(1, false)
	n.change(roster.Change{Join: []roster.Member{n.members[2].record()},
		Add: []roster.Replica{{Member: n.members[2].inc}}})
	n.learn(0, 2)
	n.carry()
	n.change(roster.Change{Admit: []roster.Replica{{Member: n.members[2].inc}}})
	n.learn(0, 2)
	n.carry()
	if !n.settle() || !slices.Equal(n.named(), []int{0, 2}) {
		t.Errorf("the disks of %v are named", n.named())
	}
}

// TestDeadReplicaDelaysNothing: the disk of a dead replica is struck with it (D3).
func TestDeadReplicaDelaysNothing(t *testing.T) {
	n := serving(t, true, true)
	n.drop(1, true)
	n.learn(0)
	if !slices.Equal(n.named(), []int{0}) {
		t.Fatalf("the disks of %v are named", n.named())
	}
	c := n.create(0, "orders")
	n.carry()
	c.is(true, nil)
}

// TestDefinitionsSurvive: all replicas end and start again. The owner takes the
// definitions from a named disk, its own or another's; until then creates, opens and
// destroys wait, whatever a holder shows, and its replies then agree with the earlier
// ones (D5, D6).
func TestDefinitionsSurvive(t *testing.T) {
	n := serving(t, true, true)
	kept, ended := n.create(0, "kept"), n.create(0, "ended")
	n.run()
	end := n.destroy(0, "ended")
	n.run()
	for _, o := range []*outcome{kept, ended, end} {
		o.is(true, nil)
	}
	n.restart(0, 1)
	n.learn(0, 1)
	if replied, err := n.renew(0, "h", claimOf(n, kept.ref, 1, 3)); !replied || err != nil {
		t.Errorf("a holder is renewed before the definitions are there: %v, %v", replied, err)
	}
	requests := []*outcome{n.open(0, "kept"), n.create(0, "kept"), n.open(0, "ended"), n.open(0, "nothing")}
	n.carry("deliver", "answer")
	for _, o := range requests {
		o.is(false, nil)
	}
	n.run()
	requests[0].is(true, nil)
	requests[1].is(true, nil)
	requests[2].is(true, sequencer.ErrNotFound)
	requests[3].is(true, sequencer.ErrNotFound)
	if requests[0].ref != kept.ref || requests[1].ref != kept.ref {
		t.Errorf("%v is another life than %v", requests[0].ref, kept.ref)
	}
	if a, b := n.members[0].machine.Table().Snapshot(), n.members[1].machine.Table().Snapshot(); !reflect.DeepEqual(a, b) {
		t.Errorf("the owner has %+v and its backup %+v", a, b)
	}
	if replied, err := n.renew(0, "h", claimOf(n, kept.ref, 1, n.roster.Version)); !replied || err != nil {
		t.Errorf("the holder whose life is on the disk: %v, %v", replied, err)
	}
}

// TestRequestsNameTheDisks: with no named disk in reach a request fails after a while,
// and says whose disks are needed and how to give them up.
func TestRequestsNameTheDisks(t *testing.T) {
	n := serving(t, true, true, true)
	n.drop(2, false)
	n.learn(0, 1, 2)
	c := n.create(0, "orders")
	n.run()
	c.is(true, nil)
	n.change(roster.Change{Remove: []roster.Incarnation{n.members[1].inc}, Strike: []roster.MemberID{n.members[1].id}})
	n.change(roster.Change{Remove: []roster.Incarnation{n.members[0].inc}, Lose: []roster.Loss{{Owner: n.members[2].inc}}})
	n.learn(2)
	o := n.open(2, "orders")
	n.run()
	o.is(false, nil)
	n.tick(2 * time.Second)
	o.is(true, sequencer.ErrUnavailable)
	for _, text := range []string{string(n.members[0].id), "snowgrid forget"} {
		if !strings.Contains(o.err.Error(), text) {
			t.Errorf("the error does not have %q: %v", text, o.err)
		}
	}
	n.members[0].start()
	n.change(roster.Change{Join: []roster.Member{n.members[0].record()}})
	n.learn(0, 2)
	o = n.open(2, "orders")
	n.run()
	o.is(true, nil)
}

// TestForgottenDisk: when the last disk is given up, the table is complete as it is, and
// names that holders showed are answered (D5, D7, D10).
func TestForgottenDisk(t *testing.T) {
	n := serving(t, true, false)
	c := n.create(0, "orders")
	n.run()
	c.is(true, nil)
	n.change(roster.Change{Remove: []roster.Incarnation{n.members[0].inc}, Lose: []roster.Loss{{Owner: n.members[1].inc}}})
	n.learn(1)
	if _, err := n.renew(1, "h", claimOf(n, c.ref, 1, 3)); err != nil {
		t.Error(err)
	}
	o := n.open(1, "orders")
	n.carry()
	o.is(false, nil)
	n.change(roster.Change{Forget: []roster.MemberID{n.members[0].id}})
	n.learn(1)
	n.carry()
	o.is(true, nil)
	if o.ref != c.ref {
		t.Errorf("%v is not the life that was shown, %v", o.ref, c.ref)
	}
}

// TestShownLifeEnds: a life that only a holder has shown is over when the definitions
// come from a disk that does not have it, or has a later one, and its holder is told.
// The name then begins above what that holder was granted (D6, I5).
func TestShownLifeEnds(t *testing.T) {
	n := serving(t, true)
	first := n.create(0, "orders")
	n.run()
	n.destroy(0, "orders")
	n.run()
	n.restart(0)
	n.learn(0)
	old := claimOf(n, first.ref, 1, 3)
	if _, err := n.renew(0, "h", old); err != nil {
		t.Fatalf("before the definitions are there: %v", err)
	}
	granted := n.roster.Ceiling
	again := n.open(0, "orders")
	n.run()
	again.is(true, sequencer.ErrNotFound)
	if !slices.Equal(n.told[len(n.told)-1:], []string{"orders"}) {
		t.Errorf("holders were told of the end of %q", n.told)
	}
	if _, err := n.renew(0, "h", old); !errors.Is(err, sequencer.ErrDestroyed) {
		t.Errorf("after them: %v", err)
	}
	second := n.create(0, "orders")
	n.run()
	second.is(true, nil)
	a, err := n.attach(0, "h", claimOf(n, second.ref, 2, n.roster.Version))
	if err != nil || a.Grant.From < granted {
		t.Errorf("the next life begins at %d, and %d was granted: %v", a.Grant.From, granted, err)
	}
}

// TestUnknownAfterCollection: a name that is not in the collected definitions is destroyed,
// whatever a holder shows (D7).
func TestUnknownAfterCollection(t *testing.T) {
	n := serving(t, true)
	n.restart(0)
	n.learn(0)
	n.run()
	if _, err := n.renew(0, "h", claimOf(n, ref(t, "never", 9), 1, 1)); !errors.Is(err, sequencer.ErrDestroyed) {
		t.Errorf("a name that no disk has is renewed: %v", err)
	}
}

// TestCollectedNames: the reported number of names leaves out destroyed names.
func TestCollectedNames(t *testing.T) {
	n := serving(t, true)
	n.create(0, "orders")
	n.create(0, "users")
	n.run()
	n.destroy(0, "users")
	n.run()
	n.restart(0)
	n.learn(0)
	n.run()
	if got := n.members[0].collected; !slices.Equal(got, []int{1}) || len(n.members[0].disk) != 2 {
		t.Errorf("%v names were reported, and the disk has %d", got, len(n.members[0].disk))
	}
}

// TestUnknownBeforeCollection: before the definitions are there an unknown name is not
// reported as destroyed.
func TestUnknownBeforeCollection(t *testing.T) {
	n := serving(t, true)
	n.restart(0)
	n.learn(0)
	for _, name := range []string{"a", "b"} {
		if _, err := n.renew(0, "h", claimOf(n, ref(t, name, 9), 1, n.roster.Version)); !errors.Is(err,
			sequencer.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIncompleteTableIsNotStored: a table that a loss has emptied does not reach the
// disk that is waited for (D1).
func TestIncompleteTableIsNotStored(t *testing.T) {
	n := serving(t, true, true)
	n.create(0, "orders")
	n.run()
	n.restart(0, 1)
	n.learn(0, 1)
	n.renew(0, "h", claimOf(n, ref(t, "other", 7), 1, 3))
	n.lost("collect")
	n.carry()
	for i, m := range n.members {
		if len(m.writes) > 0 || len(m.disk) != 1 {
			t.Errorf("member %d has %d writes before it and %d names on disk", i, len(m.writes), len(m.disk))
		}
	}
}

// TestLateWriteIsNotAcknowledged: a member whose disk was shown after a loss tells no
// earlier owner of a write that ends later (D1, D6).
func TestLateWriteIsNotAcknowledged(t *testing.T) {
	n := serving(t, true, true)
	c := n.create(0, "orders")
	n.carry("deliver", "answer") // both hold it, neither has written it
	n.lose(1)
	n.learn(1)
	n.carry("collect", "collected")
	n.carry() // the writes
	c.is(false, nil)
	o := n.open(1, "orders")
	n.run()
	o.is(true, sequencer.ErrNotFound)
	if c.replied && c.err == nil {
		t.Error("a create was answered whose name the next owner does not know")
	}
}

// TestDiskIsShownLate: a member shows its disk only when it knows of the loss itself, and
// no longer to the owner of an earlier term (D6).
func TestDiskIsShownLate(t *testing.T) {
	n := serving(t, true, true)
	before := n.roster.Partitions[0]
	n.lose(1)
	m := n.members[0]
	p := n.roster.Partitions[0]
	c := partition.Collection{From: m.id, Term: p.Term, Lost: p.LostTerm}
	if err := m.machine.ShowDisk(m.view(), c); err == nil {
		t.Error("it shows its disk before it knows of the loss")
	}
	n.learn(0)
	if err := m.machine.ShowDisk(m.view(), c); err != nil {
		t.Error(err)
	}
	if err := m.machine.ShowDisk(m.view(), partition.Collection{From: m.id, Term: before.Term,
		Lost: before.LostTerm}); err == nil {
		t.Error("it shows its disk to an owner that was replaced")
	}
}

// TestCollectionOfAnotherTermOrMember: only the answer to this term's question counts,
// from a member whose disk is named, and only the first (D6).
func TestCollectionOfAnotherTermOrMember(t *testing.T) {
	n := serving(t, true, true, true)
	n.drop(2, true)
	n.create(0, "orders")
	n.learn(0, 1, 2)
	n.run()
	n.restart(0, 1)
	n.learn(0, 1, 2)
	n.lost("collect")
	o, p := n.members[0], n.roster.Partitions[0]
	right := partition.Collection{From: o.id, Term: p.Term, Lost: p.LostTerm}
	unnamed, earlier := right, right
	unnamed.From, earlier.Term = n.members[2].id, p.Term-1
	for what, c := range map[string]partition.Collection{"a disk that is not named": unnamed,
		"an earlier question": earlier} {
		if o.machine.Collected(o.view(), c, partition.Definitions{}, nil); o.machine.Table().Complete() {
			t.Fatalf("definitions are taken from %s", what)
		}
	}
	o.machine.Collected(o.view(), right, o.definitions(), errors.New("refused"))
	if o.machine.Table().Complete() {
		t.Fatal("definitions are taken from an answer that is an error")
	}
	o.machine.Collected(o.view(), right, o.definitions(), nil)
	o.machine.Collected(o.view(), right, partition.Definitions{}, nil)
	got := n.open(0, "orders")
	n.run()
	got.is(true, nil)
}

// TestCollectionIsRepeated: a disk that could not be asked is asked again, and the flag
// that definitions are missing stays with the table when the owner changes (D5).
func TestCollectionIsRepeated(t *testing.T) {
	n := serving(t, true, true)
	c := n.create(0, "orders")
	n.run()
	n.restart(0, 1)
	n.learn(0, 1)
	n.lost("collect")
	n.carry()
	n.take(1)
	n.learn(0, 1)
	if n.members[1].machine.Table().Complete() {
		t.Fatal("the next owner's table is complete immediately")
	}
	m := n.members[1]
	p := n.roster.Partitions[0]
	n.lost("collect")
	for _, id := range p.Disk {
		m.machine.Collected(m.view(), partition.Collection{From: id, Term: p.Term, Lost: p.LostTerm}, partition.Definitions{},
			errors.New("lost"))
	}
	n.carry()
	n.tick(time.Second)
	o := n.open(1, "orders")
	n.run()
	o.is(true, nil)
	if o.ref != c.ref {
		t.Errorf("%v is not %v", o.ref, c.ref)
	}
}

// TestSettleWaitsForEachDisk: disks are named when each has the table as it was when the
// owner learned the version, and for that version alone (D4).
func TestSettleWaitsForEachDisk(t *testing.T) {
	n := newMachines(t, true, true)
	n.begin(0, 1)
	n.carry("deliver", "answer")
	for len(n.mail) > 0 && n.mail[0].from != n.members[0].inc {
		n.mail = append(n.mail[1:], n.mail[0])
	}
	n.mail[0].carry() // the owner's own write
	n.mail = n.mail[1:]
	if len(n.settled) > 0 {
		t.Fatalf("with one disk of two the leader is told %v", n.settled)
	}
	n.carry()
	if len(n.settled) != 1 || n.settled[0].Version != n.roster.Version {
		t.Fatalf("with both the leader is told %v at version %d", n.settled, n.roster.Version)
	}
	n.change(roster.Change{Window: window + 1})
	n.learn(0, 1)
	if len(n.settled) != 2 || n.settled[1].Version != n.roster.Version {
		t.Errorf("at a later version the leader is told %v", n.settled)
	}
}

// TestLostNewsIsAskedForAgain: the news that a backup has written may get lost.
func TestLostNewsIsAskedForAgain(t *testing.T) {
	n := serving(t, true, true)
	c := n.create(0, "orders")
	n.carry("deliver", "answer", "write")
	n.lost("stored")
	n.carry()
	c.is(false, nil)
	n.tick(partition.TickEvery)
	n.carry()
	c.is(true, nil)
}

// TestFailedWrite: a failed write is not acknowledged. The next one is whole.
func TestFailedWrite(t *testing.T) {
	n := serving(t, true)
	c := n.create(0, "orders")
	m := n.members[0]
	n.lost("write")
	m.machine.Stored(m.view(), m.writes[0].Position, errors.New("the disk is full"))
	m.writes = nil
	n.carry()
	c.is(false, nil)
	n.tick(time.Second)
	if len(m.writes) != 1 || m.writes[0].Whole == nil {
		t.Fatalf("after a write that failed there are %d, and the first is not whole", len(m.writes))
	}
	n.carry()
	c.is(true, nil)
}

// TestJoinerWritesFirst: a durable replica has written the table when it is admitted, so
// that no create waits for that.
func TestJoinerWritesFirst(t *testing.T) {
	n := serving(t, true)
	n.members = append(n.members, &diskMember{machines: n, id: "00000000000000ff", durable: true,
		disk: map[string]partition.DefinitionRecord{}})
	n.members[1].start()
	n.change(roster.Change{Join: []roster.Member{n.members[1].record()},
		Add: []roster.Replica{{Member: n.members[1].inc}}})
	n.learn(0, 1)
	n.carry("deliver", "answer")
	if _, ready := n.members[0].machine.Admission(); ready {
		t.Error("it may be admitted before it has written anything")
	}
	n.carry()
	if _, ready := n.members[0].machine.Admission(); !ready {
		t.Error("it may not be admitted")
	}
}
