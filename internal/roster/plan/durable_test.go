package plan

import (
	"reflect"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// TestPlanDisks: the plan names disks as their owners say at this version and at no
// other. Those of the dead stay named: the others may be dead too, and not noticed yet.
func TestPlanDisks(t *testing.T) {
	join := rostertest.Records([]string{"a1", "b1"})
	join[0].Durable, join[1].Durable = true, true
	r := step(t, rostertest.Raise(t, rostertest.Formed(t, 1, roster.DefaultWindow), 5_000),
		Sight{Join: join, Assign: true})
	r = rostertest.Raise(t, r, clustertime.Tick(5_000).Add(roster.DefaultWindow))
	if c, found := new(Planner).Plan(r,
		Sight{Persisted: []roster.Persisted{{Partition: 0, Version: r.Version - 1},
			{Partition: 7, Version: r.Version}}}); found {
		t.Errorf("disks of an earlier version, or of no partition: %+v", c.Change)
	}
	named := step(t, r, Sight{Persisted: []roster.Persisted{{Partition: 0, Version: r.Version}}, Patient: true})
	if !slices.Equal(named.Partitions[0].Disk, rostertest.MemberIDs("a1", "b1")) {
		t.Fatalf("the disks of %v are named", named.Partitions[0].Disk)
	}
	if c, found := new(Planner).Plan(named,
		Sight{Persisted: []roster.Persisted{{Partition: 0, Version: named.Version}}}); found {
		t.Errorf("they are named already: %+v", c.Change)
	}
	owner := named.Partitions[0].Owner
	other := slices.DeleteFunc(rostertest.Incarnations([]string{"a1", "b1"}),
		func(i roster.Incarnation) bool { return i == owner })[0]
	for name, s := range map[string]Sight{"silent": {Silent: []roster.Incarnation{other}},
		"gone": {Gone: []roster.Incarnation{other}}} {
		if after := step(t, named, s); !slices.Equal(after.Partitions[0].Disk, named.Partitions[0].Disk) {
			t.Errorf("%s: the disks of %v are named", name, after.Partitions[0].Disk)
		}
	}
	if after := step(t, named, Sight{Leave: []roster.Incarnation{other}}); !slices.Equal(after.Partitions[0].Disk,
		named.Partitions[0].Disk) {
		t.Errorf("after an orderly leave the disks of %v are named", after.Partitions[0].Disk)
	}
}

// TestPlanKeepsADisk: a partition that moves away from the only named disk leaves it when
// the new replica's disk is named, and not before (D4).
func TestPlanKeepsADisk(t *testing.T) {
	join := rostertest.Records([]string{"a1"})
	join[0].Durable = true
	form := roster.Form{Grid: roster.GridID{1}, Settings: roster.Settings{Name: "g", Partitions: 1,
		Window: roster.DefaultWindow}}
	r, _ := new(roster.Roster).Apply(roster.Command{Form: &form})
	r = step(t, rostertest.Raise(t, r, 5_000), Sight{Join: join, Assign: true})
	r = rostertest.Raise(t, step(t, r, Sight{Persisted: []roster.Persisted{{Partition: 0, Version: r.Version}}}),
		clustertime.Tick(5_000).Add(roster.DefaultWindow))
	comes := rostertest.Record(rostertest.Incarnation("b1"))
	comes.Durable = true
	leave := Sight{Join: []roster.Member{comes}, Leave: rostertest.Incarnations([]string{"a1"})}
	r = step(t, r, leave)
	for range 3 { // add, admit, take
		leave.Held = held(r)
		c, found := new(Planner).Plan(r, leave)
		if !found {
			break
		}
		r = rostertest.Apply(t, r, *c.Change)
	}
	want := rostertest.Incarnations([]string{"a1", "b1"})
	if p := r.Partitions[0]; p.Owner != want[1] || !slices.Equal(p.InSync, want) {
		t.Fatalf("before the new disk is named: %+v", p)
	}
	if c, found := new(Planner).Plan(r, leave); found {
		t.Fatalf("more is done: %+v", c.Change)
	}
	leave.Persisted = []roster.Persisted{{Partition: 0, Version: r.Version}}
	r = step(t, r, leave)
	if p := r.Partitions[0]; !slices.Equal(p.Disk, rostertest.MemberIDs("a1", "b1")) {
		t.Fatalf("it is not named: %+v", p)
	}
	if r = step(t, r, Sight{Leave: leave.Leave}); len(r.Partitions[0].InSync) != 1 {
		t.Errorf("after it the old replica stays: %+v", r.Partitions[0])
	}
}

// TestPlaceDurably: wherever the grid has a durable member each partition has one, and
// all else stays as the ring has it (D11).
func TestPlaceDurably(t *testing.T) {
	members := rostertest.MemberIDs("a1", "b1", "c1", "d1", "e1")
	for copies := range 3 {
		ring := Place(members, 50, copies)
		for _, durable := range [][]roster.MemberID{nil, members, members[1:2], members[1:4]} {
			for id, replicas := range placeDurably(members, durable, 50, copies) {
				has := slices.ContainsFunc(replicas, func(m roster.MemberID) bool { return slices.Contains(durable, m) })
				had := slices.ContainsFunc(ring[id], func(m roster.MemberID) bool { return slices.Contains(durable, m) })
				unique := slices.Compact(slices.Sorted(slices.Values(replicas)))
				if has != (len(durable) > 0) || len(unique) != len(ring[id]) || had && !reflect.DeepEqual(replicas, ring[id]) ||
					!slices.Equal(replicas[:copies], ring[id][:copies]) {
					t.Fatalf("partition %d of %v with %v durable: %v", id, ring[id], durable, replicas)
				}
			}
		}
	}
}
