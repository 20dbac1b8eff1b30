package plan

import (
	"reflect"
	"slices"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// witness holds one planned change against what [Planner.Plan] promises.
type witness struct {
	before, after *roster.Roster
	s             Sight
	c             roster.Change
	again         bool                        // grants were shown that reach above a floor
	calm          bool                        // no member is silent, gone or replaced
	up            map[roster.Incarnation]bool // members afterwards, and not silent
	wanted        int                         // replicas of a partition that there can be
}

func newWitness(before, after *roster.Roster, s Sight, c roster.Change) *witness {
	k := &witness{before: before, after: after, s: s, c: c, up: map[roster.Incarnation]bool{}, calm: true}
	for _, p := range before.Partitions {
		k.again = k.again || p.Owner != "" && p.Floor < s.Granted
	}
	stay := 0
	for _, m := range after.Members {
		k.up[m.Incarnation] = !slices.Contains(s.Silent, m.Incarnation)
		k.calm = k.calm && k.up[m.Incarnation]
		if !slices.Contains(s.Leave, m.Incarnation) {
			stay++
		}
	}
	for _, m := range before.Members {
		i := m.Incarnation
		_, stays := after.Member(i)
		k.calm = k.calm && (stays || slices.Contains(c.Remove, i) && !slices.Contains(s.Gone, i))
	}
	if stay == 0 {
		stay = len(after.Members)
	}
	k.wanted = min(1+before.Settings.Backups, stay)
	return k
}

// checkMembers: gone members are removed; leaving ones when no partition needs them.
func (k *witness) checkMembers(t *rapid.T) {
	for _, i := range k.s.Gone {
		if _, found := k.after.Member(i); found {
			t.Fatalf("%s is gone and a member", i)
		}
	}
	for _, i := range k.s.Leave {
		_, was := k.before.Member(i)
		_, is := k.after.Member(i)
		needed := slices.ContainsFunc(k.before.Partitions, func(p roster.Partition) bool { return p.Keeps(i) })
		switch gone := slices.Contains(k.s.Gone, i); {
		case !was && is:
			t.Fatalf("%s leaves and joined", i)
		case needed && slices.Contains(k.c.Remove, i) && !gone:
			t.Fatalf("%s was let go and is needed", i)
		case was && is && !needed:
			t.Fatalf("%s was not removed, and no partition needs it", i)
		}
	}
}

// checkSettled: silent members are not settled. Members become settled when all answer and
// are in sync where they are wanted; and no member that answers is suspected.
func (k *witness) checkSettled(t *rapid.T) {
	for _, m := range k.after.Members {
		if i := m.Incarnation; !k.up[i] && k.after.Settled(i) {
			t.Fatalf("%s is silent and settled", i)
		} else if k.up[i] && k.before.Settled(i) && !k.after.Settled(i) {
			t.Fatalf("%s answers and is in doubt", i)
		}
	}
	if len(k.c.Settle) == 0 {
		return
	}
	if !k.after.Assigned() || k.after.Joining() > 0 {
		t.Fatalf("settled while there is something to do: %+v", k.c)
	}
	for id, replicas := range k.placed() {
		for _, i := range replicas {
			if p := k.after.Partitions[id]; !k.up[i] || !slices.Contains(p.InSync, i) {
				t.Fatalf("settled while %s lacks partition %d", i, id)
			}
		}
	}
}

// placed gives the replicas that are wanted after the change.
func (k *witness) placed() [][]roster.Incarnation {
	current := make(map[roster.MemberID]roster.Incarnation)
	var stay, all []candidate
	for _, m := range k.after.Members {
		member := candidate{member: m.Incarnation.Member(), durable: m.Durable, zone: m.Zone}
		current[member.member] = m.Incarnation
		all = append(all, member)
		if !slices.Contains(k.s.Leave, m.Incarnation) {
			stay = append(stay, member)
		}
	}
	if len(stay) == 0 {
		stay = all
	}
	var out [][]roster.Incarnation
	for _, members := range spread(stay, len(k.after.Partitions), k.after.Settings.Backups) {
		var replicas []roster.Incarnation
		for _, member := range members {
			replicas = append(replicas, current[member])
		}
		out = append(out, replicas)
	}
	return out
}

// checkPartition follows one partition from the old roster to the new.
func (k *witness) checkPartition(t *rapid.T, id roster.PartitionID) {
	old, p := k.before.Partitions[id], k.after.Partitions[id]
	fail := func(why string) { t.Fatalf("partition %d: %s: %+v after %+v, by %+v", id, why, p, old, k.c) }
	lost := p.LostTerm != old.LostTerm
	heir := slices.ContainsFunc(old.InSync, func(i roster.Incarnation) bool { return k.up[i] })
	_, stays := k.up[old.Owner]
	kept := slices.ContainsFunc(old.InSync, func(i roster.Incarnation) bool { _, member := k.up[i]; return member })
	switch {
	case old.Owner == "":
		if (p.Owner != "") != k.s.Assign {
			fail("assigned, and it was not to be, or the reverse")
		}
		return
	case k.again:
		if !lost || p.Floor < k.s.Granted {
			fail("it is not above the grants that were shown")
		}
		return
	case lost == kept:
		fail("lost although a replica has it, or the reverse")
	case !stays && (lost || heir) && !k.up[p.Owner] && slices.ContainsFunc(k.after.Members,
		func(m roster.Member) bool { return k.up[m.Incarnation] }):
		fail("given to one that does not answer")
	case stays && !k.up[old.Owner] && heir != (p.Owner != old.Owner):
		fail("its silent owner has an heir and stays, or the reverse")
	case k.up[old.Owner] && old.Term == old.LostTerm && k.before.Time < old.Floor && p.Term != old.Term &&
		!slices.Contains(k.s.Leave, old.Owner):
		fail("moved while its owner learns and stays")
	}
	if k.calm && len(p.InSync) < min(k.wanted, len(old.InSync)) {
		fail("too few are in sync")
	}
	if !lost && old.Joining != "" && slices.Contains(p.InSync, old.Joining) &&
		!slices.Contains(k.s.Held, roster.Holding{Replica: roster.Replica{Partition: id, Member: old.Joining},
			Version: k.before.Version}) {
		fail("admitted, and its owner did not say that it may be")
	}
	k.checkReplicas(t, id, fail)
}

// checkReplicas: no replica that answers is dropped before all wanted ones are in sync, and
// a silent one does not stay next to an owner that answers.
func (k *witness) checkReplicas(t *rapid.T, id roster.PartitionID, fail func(string)) {
	old, p := k.before.Partitions[id], k.after.Partitions[id]
	dropped := 0
	for _, i := range old.InSync {
		if slices.Contains(p.InSync, i) {
			continue
		}
		dropped++
		if k.up[i] && p.LostTerm == old.LostTerm && len(p.InSync) < k.wanted {
			fail("one that answers was dropped, and the others are too few")
		}
	}
	isSilent := func(i roster.Incarnation) bool { up, stays := k.up[i]; return stays && !up }
	silent := slices.ContainsFunc(old.InSync, isSilent) || isSilent(old.Joining)
	if _, stays := k.up[old.Joining]; k.up[old.Owner] && silent && dropped == 0 && (p.Joining == old.Joining || !stays) {
		fail("no replica was dropped, though one is silent")
	}
}

// checkPatient: only urgent changes are made, and they equal those without patience.
func (k *witness) checkPatient(t *rapid.T) {
	if len(k.c.Add)+len(k.c.Admit) > 0 {
		t.Fatalf("patient, and joins: %+v", k.c)
	}
	for _, m := range k.c.Take {
		if k.up[k.before.Partitions[m.Partition].Owner] {
			t.Fatalf("patient, and moves: %+v", m)
		}
	}
	for _, m := range k.c.Drop {
		if k.up[m.Member] {
			t.Fatalf("patient, and drops: %+v", m)
		}
	}
	s := k.s
	s.Patient = false
	hurried, _ := new(Planner).Plan(k.before, s)
	if hurried.Change == nil {
		t.Fatalf("patient, and does more: %+v", k.c)
	}
	urgent, h := k.c, *hurried.Change
	h.Take = slices.DeleteFunc(slices.Clone(h.Take),
		func(m roster.Replica) bool { return k.up[k.before.Partitions[m.Partition].Owner] })
	h.Drop = slices.DeleteFunc(slices.Clone(h.Drop), func(m roster.Replica) bool { return k.up[m.Member] })
	h.Add, h.Admit, h.Settle, urgent.Settle = nil, nil, nil, nil
	if !reflect.DeepEqual(rostertest.Both(h, roster.Change{}), rostertest.Both(urgent, roster.Change{})) {
		t.Fatalf("urgent changes differ:\n%+v\n%+v", urgent, h)
	}
}
