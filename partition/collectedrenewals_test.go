package partition_test

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/partition"
)

// TestRenewalsWaitForACollectedTable: a renewal, alone or with all of its holder, is answered
// after every replica has the table that was collected (O4): it is of another record than the
// one that the holder has shown.
func TestRenewalsWaitForACollectedTable(t *testing.T) {
	n := newMachines(t, true, true, true)
	n.begin(0)
	n.run()
	o := n.create(0, "orders")
	n.run()
	c := claimOf(n, o.ref, 1, n.roster.Version)
	a, err := n.attach(0, "h", c)
	if err != nil {
		t.Fatal(err)
	}
	c.Preference = attachment.Preference{Node: a.Node}
	n.lose(1, 2)
	n.learn(n.all()...)
	n.carry("deliver", "answer")
	m := n.members[1]
	m.machine.Renew(m.view(), "h", []partition.Claim{c}, func(out []partition.Renewed, err error) {
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
		a.Grant = out[0].Grant
	})
	n.carry("deliver", "answer")
	n.tick(2 * partition.TickEvery)
	n.carry("collect", "collected")
	if !m.machine.Table().Complete() || n.members[2].machine.Table().Complete() {
		t.Fatal("the owner alone is to have the collected table")
	}
	alone, together := false, clustertime.Tick(0)
	m.machine.Renew(m.view(), "h", []partition.Claim{c}, func([]partition.Renewed, error) { alone = true })
	m.machine.RenewSet(m.view(), "h", set(o.ref, a), func(until clustertime.Tick, _ error) { together = until })
	if alone || together > 0 {
		t.Errorf("answered before the replica has the table: alone %v, all up to %d", alone, together)
	}
	n.run()
	if !alone {
		t.Error("the renewal has no answer")
	}
	m.machine.RenewSet(m.view(), "h", set(o.ref, a), func(until clustertime.Tick, _ error) { together = until })
	n.run()
	if together == 0 {
		t.Error("the set is not extended")
	}
}
