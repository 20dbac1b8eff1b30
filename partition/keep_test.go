package partition_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// voters names the voters that keep definitions in memory. All members learn it.
func (n *machines) voters(members ...int) {
	n.t.Helper()
	c := roster.Change{}
	for _, i := range members {
		c.Keepers = append(c.Keepers, n.members[i].inc)
	}
	n.change(c)
	n.learn(n.all()...)
}

// keepers returns four members without disks, of which the first owns the partition, and
// three vote.
func keepers(t *testing.T, replicas ...int) *machines {
	n := newMachines(t, false, false, false, false)
	n.change(roster.Change{Join: []roster.Member{n.members[0].record(), n.members[1].record(), n.members[2].record(),
		n.members[3].record()}})
	n.lose(replicas...)
	n.voters(0, 1, 2)
	n.run()
	return n
}

// replica names a member's copy.
func (n *machines) replica(i int) []roster.Replica {
	return []roster.Replica{{Member: n.members[i].inc}}
}

// once carries the messages of a kind that are on their way, and none that they cause.
func (n *machines) once(kind string) {
	mail := n.mail
	n.mail = nil
	for _, l := range mail {
		if l.what == kind {
			l.carry()
		} else {
			n.mail = append(n.mail, l)
		}
	}
}

// keptBy returns the names that a member keeps.
func (n *machines) keptBy(i int) (names []string) {
	d, _ := n.members[i].machine.Kept()
	for _, r := range d.Records {
		names = append(names, r.Ref.Definition.Name())
	}
	return names
}

// TestVotersKeepDefinitions: a create is answered when a majority of the voters has the
// definition in memory, and the owner after a loss takes the definitions of one of them.
func TestVotersKeepDefinitions(t *testing.T) {
	n := keepers(t, 0)
	named := n.named()
	if len(named) != 2 || !slices.Contains(named, 0) {
		t.Fatalf("%v keep the definitions, want the owner and another voter", named)
	}
	other := named[1]
	o := n.create(0, "orders")
	o.is(false, nil) // the other voter does not have it
	gone := n.create(0, "gone")
	n.carry()
	o.is(true, nil)
	gone.is(true, nil)
	end := n.destroy(0, "gone")
	n.tick(partition.TickEvery)
	n.carry()
	end.is(true, nil)
	if got := n.keptBy(other); !slices.Contains(got, "orders") {
		t.Fatalf("%d keeps %v", other, got)
	}
	n.lose(3)
	n.learn(3)
	late := n.open(3, "orders")
	late.is(false, nil)
	n.carry("collect", "collected")
	late.is(false, nil) // they have not learned of the loss
	n.learn(n.all()...)
	n.tick(2 * partition.TickEvery)
	n.run()
	if late.is(true, nil); late.ref != o.ref {
		t.Errorf("after the loss orders is %v, want %v", late.ref, o.ref)
	}
	after := n.open(3, "gone")
	n.run()
	after.is(true, sequencer.ErrNotFound)
}

// TestVotersGetDefinitionsAlone: attaches are not sent to voters that are no replicas.
func TestVotersGetDefinitionsAlone(t *testing.T) {
	n := keepers(t, 0)
	o := n.create(0, "orders")
	n.carry()
	m := n.members[0]
	attached := false
	m.machine.Attach(m.view(), "holder", claim(o.ref, 1),
		func(_ attachment.Attachment, err error) { attached = err == nil })
	if !attached || len(n.mail) > 0 {
		t.Errorf("attached: %v, and %d messages are on their way", attached, len(n.mail))
	}
	if o = n.create(0, "more"); len(n.mail) != 1 {
		t.Errorf("a create sends %d messages", len(n.mail))
	}
	n.carry()
	o.is(true, nil)
}

// TestVoterAcknowledgesNoEarlierOwner: a voter that knows of a loss stores nothing of the
// owner before it: the next owner may have its definitions already.
func TestVoterAcknowledgesNoEarlierOwner(t *testing.T) {
	n := keepers(t, 0)
	other := n.named()[1]
	o := n.create(0, "orders")
	n.lose(3)
	n.learn(other)
	n.once("deliver")
	n.once("answer")
	o.is(false, nil)
	if got := n.keptBy(other); len(got) > 0 {
		t.Errorf("it stored %v of an earlier owner", got)
	}
}

// TestVoterKeepsBesideAnIncompleteTable: the table that a loss has emptied is sent to a voter
// before it is collected, and takes nothing from what the voter keeps.
func TestVoterKeepsBesideAnIncompleteTable(t *testing.T) {
	n := keepers(t, 0)
	n.create(0, "orders")
	n.carry()
	other := n.named()[1]
	n.lose(3, other)
	n.learn(n.all()...)
	n.carry("deliver", "answer")
	if m := n.members[other].machine; m.Position().Term != m.Holds().Newest || m.Table().Complete() {
		t.Fatalf("the voter has the table %v", m.Position())
	}
	if got := n.keptBy(other); len(got) != 1 {
		t.Errorf("it keeps %v", got)
	}
	n.run()
	o := n.open(3, "orders")
	n.run()
	o.is(true, nil)
}

// TestVoterHasAGap: definitions that follow others than those that a voter has are refused.
func TestVoterHasAGap(t *testing.T) {
	n := keepers(t, 0)
	m := n.members[n.named()[1]]
	_, at := m.machine.Kept()
	u := partition.Update{
		Version: n.roster.Version, Position: backup.Position{Term: at.Term, Number: at.Number + 3},
		Since: at.Number + 2, Changes: []partition.TableChange{{}}, Keep: true,
	}
	h, err := m.machine.Accept(m.view(), u)
	if err != nil || !h.Gap || h.Stored != at {
		t.Errorf("%+v, %v, want a gap at %v", h, err, at)
	}
}

// TestReplicaKeepsItsTable: a voter that was a replica, was sent definitions since, and is a
// replica again keeps exactly those of the owner's table.
func TestReplicaKeepsItsTable(t *testing.T) {
	n := keepers(t, 0, 1)
	for _, m := range n.members {
		m.machine.KeepTombstones(0) // so that the table loses the destroyed name
	}
	n.create(0, "first")
	n.carry()
	n.change(roster.Change{Drop: n.replica(1)})
	n.learn(0) // the other one has its table still
	n.create(0, "short-lived")
	n.carry()
	if got := n.keptBy(1); !slices.Contains(got, "short-lived") {
		t.Fatalf("it was sent %v", got)
	}
	n.destroy(0, "short-lived")
	n.tick(partition.TickEvery) // the tombstone goes
	n.cut = true
	n.once("deliver")
	n.change(roster.Change{Add: n.replica(1)})
	n.learn(0, 1)
	n.cut = false
	n.create(0, "last")
	n.tick(partition.TickEvery)
	n.run()
	n.change(roster.Change{Admit: n.replica(1)})
	n.learn(n.all()...)
	n.run()
	want := n.members[0].machine.Table().Definitions()
	if got, _ := n.members[1].machine.Kept(); !reflect.DeepEqual(got, want) {
		t.Errorf("it keeps %+v, want %+v", got, want)
	}
}

// TestVoterForgetsLate: definitions that are needed no longer stay in memory for the rest of
// the term, because the owner counts on them, and longer where the roster names the member.
func TestVoterForgetsLate(t *testing.T) {
	n := keepers(t, 0)
	n.create(0, "orders")
	n.carry()
	other := n.named()[1]
	next := 3 - other
	n.voters(0, next)
	n.run()
	if named := n.named(); !slices.Equal(named, []int{0, next}) {
		t.Fatalf("%v keep the definitions", named)
	}
	if got := n.keptBy(other); len(got) != 1 {
		t.Errorf("within the term it keeps %v", got)
	}
	n.lose(3)
	n.learn(n.all()...)
	if got := n.keptBy(other); len(got) > 0 {
		t.Errorf("in the next term it keeps %v", got)
	}
	if got := n.keptBy(next); len(got) != 1 {
		t.Errorf("a loss left %v at a member that is named", got)
	}
	n.run()
	o := n.open(3, "orders")
	n.run()
	o.is(true, nil)
}

// TestVotersKeepForADurableOwner: definitions in memory stay there while they are named, also
// when a member with a disk joins.
func TestVotersKeepForADurableOwner(t *testing.T) {
	n := newMachines(t, false, false, true)
	n.change(roster.Change{Join: []roster.Member{n.members[0].record(), n.members[1].record()}})
	n.lose(0)
	n.voters(0, 1)
	n.run()
	o := n.create(0, "orders")
	n.carry()
	o.is(true, nil)
	n.lose(2) // it joins, and has the partition alone
	n.learn(n.all()...)
	if got := n.keptBy(1); len(got) != 1 {
		t.Fatalf("it keeps %v", got)
	}
	n.run()
	late := n.open(2, "orders")
	n.run()
	late.is(true, nil)
	if named := n.named(); !slices.Equal(named, []int{2}) {
		t.Errorf("%v are named, want the one with a disk", named)
	}
}
