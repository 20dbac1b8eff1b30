package partition_test

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// shownLives is a partition after a loss, in a grid without disks, and two lives of a
// name: the second began when the first had ended.
func shownLives(t *testing.T) (n *machines, first, second attachment.Ref) {
	n = newMachines(t, false, false)
	n.begin(0, 1)
	n.carry()
	first, second = ref(t, "orders", 1), ref(t, "orders", 2)
	first.Born, second.Born = attachment.Revision{Term: 1, Number: 1}, attachment.Revision{Term: 1, Number: 5}
	return n, first, second
}

// set is all that a holder has: one attachment of a life.
func set(r attachment.Ref, a attachment.Attachment) partition.ClaimSet {
	return partition.ClaimSet{Count: 1, Print: attachment.FingerprintOf(r.Life, a)}
}

// renewSet shows a set and returns where its grants end.
func (n *machines) renewSet(h attachment.HolderID, s partition.ClaimSet) (until clustertime.Tick) {
	n.t.Helper()
	m := n.members[0]
	m.machine.RenewSet(m.view(), h, s, func(end clustertime.Tick, err error) {
		if until = end; err != nil {
			n.t.Error(err)
		}
	})
	n.carry()
	return until
}

// hold attaches a holder to node 5 of a life.
func (n *machines) hold(h attachment.HolderID, r attachment.Ref, id byte) attachment.Attachment {
	n.t.Helper()
	c := claimOf(n, r, id, 1)
	c.Any, c.Node = false, 5
	a, err := n.attach(0, h, c)
	if err != nil {
		n.t.Fatal(err)
	}
	n.carry()
	return a
}

// show has a holder show that it has node 5 of a life.
func (n *machines) show(h attachment.HolderID, r attachment.Ref, id byte) attachment.Attachment {
	n.t.Helper()
	c := claimOf(n, r, id, 1)
	c.Any, c.Node = false, 5
	a := attachment.Attachment{ID: c.ID, Node: 5}
	n.members[0].machine.Renew(n.members[0].view(), h, []partition.Claim{c}, func(out []partition.Renewed, err error) {
		if err != nil || out[0].Err != nil {
			n.t.Fatal(err, out)
		}
		a.Grant = out[0].Grant
	})
	n.carry()
	return a
}

// TestSetOfAReplacedLifeIsNotExtended: when a later life has taken a life's place, what
// its holder has is extended no longer: another one may have the node (O6).
func TestSetOfAReplacedLifeIsNotExtended(t *testing.T) {
	n, first, second := shownLives(t)
	a := n.hold("h", first, 1)
	if until := n.renewSet("h", set(first, a)); until == 0 {
		t.Fatal("before that it is not extended")
	}
	b := n.hold("g", second, 2)
	if until := n.renewSet("h", set(first, a)); until != 0 {
		t.Errorf("the life that gave way is extended to %d", until)
	}
	if until := n.renewSet("g", set(second, b)); until == 0 {
		t.Error("the life that took its place is not extended")
	}
}

// TestSetOfAnEndedLifeIsNotExtended: grants of a destroyed life are not extended (O7).
func TestSetOfAnEndedLifeIsNotExtended(t *testing.T) {
	n, first, _ := shownLives(t)
	a := n.hold("h", first, 1)
	end := n.destroy(0, "orders")
	n.tick(time.Second)
	n.carry()
	end.is(true, nil)
	if until := n.renewSet("h", set(first, a)); until != 0 {
		t.Errorf("it is extended to %d", until)
	}
}

// TestDestroyOfALifeThatGaveWay: a destroy in progress ends with the life it is for. The
// life that took its place keeps its holders, and a destroy of that is another one.
func TestDestroyOfALifeThatGaveWay(t *testing.T) {
	n, first, second := shownLives(t)
	n.hold("h", first, 1)
	end := n.destroy(0, "orders")
	n.carry()
	end.is(false, nil)
	b := n.show("g", second, 2)
	end.is(true, sequencer.ErrDestroyed)
	if until := n.renewSet("g", set(second, b)); until == 0 {
		t.Error("the later life is not extended")
	}
	next := n.destroy(0, "orders")
	n.carry()
	next.is(false, nil)
	n.tick(time.Second)
	n.carry()
	next.is(true, nil)
	if lives := n.members[0].machine.Table().Lives(1); len(lives) > 0 {
		t.Errorf("it was answered and did not end %v", lives)
	}
}

// TestLateDestroyKeepsSessions: the same when the destroy's time is up at the moment when
// the later life is shown.
func TestLateDestroyKeepsSessions(t *testing.T) {
	n, first, second := shownLives(t)
	n.hold("h", first, 1)
	n.destroy(0, "orders")
	b := n.show("g", second, 2)
	n.tick(2 * time.Second)
	n.carry()
	if until := n.renewSet("g", set(second, b)); until == 0 {
		t.Error("the later life is not extended")
	}
}

// TestSessionsEndWithTheTerm: a replaced owner waits for no holder.
func TestSessionsEndWithTheTerm(t *testing.T) {
	n, first, _ := shownLives(t)
	n.hold("h", first, 1)
	if m := n.members[0].machine; !m.Ticks() {
		t.Fatal("there is nothing that time does while a holder is attached")
	}
	n.take(1)
	n.learn(0, 1)
	n.carry()
	if m := n.members[0].machine; m.Ticks() {
		t.Error("there is still something that time does")
	}
	if m := n.members[1].machine; !m.Ticks() {
		t.Error("the next owner does not wait for the holder")
	}
}
