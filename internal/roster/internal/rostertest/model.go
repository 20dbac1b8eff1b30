package rostertest

import (
	"cmp"
	"reflect"
	"slices"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// CheckRoster checks the invariants of every roster.
func CheckRoster(t *rapid.T, r *roster.Roster) {
	for at, m := range r.Members {
		if at > 0 && r.Members[at-1].Incarnation.Member() >= m.Incarnation.Member() {
			t.Fatalf("members are not sorted, or two are one: %v", r.Members)
		}
	}
	checkSet(t, r, "the unsettled", r.Unsettled)
	for id, p := range r.Partitions {
		checkSet(t, r, "an in-sync set", p.InSync)
		if p.Owner == "" {
			lost := roster.Partition{Term: p.Term, Floor: p.Floor, LostTerm: p.Term, Disk: p.Disk} // by a reset
			if r.Claim == "" && !reflect.DeepEqual(p, roster.Partition{}) || !SamePartition(p, lost) || p.Floor > r.Ceiling ||
				p.Term > roster.Term(r.Version) {
				t.Fatalf("partition %d has no owner and %+v", id, p)
			}
			continue
		}
		if !slices.Contains(p.InSync, p.Owner) {
			t.Fatalf("partition %d: owner %s of in-sync set %v", id, p.Owner, p.InSync)
		}
		if p.Joining != "" {
			checkSet(t, r, "a joining replica", []roster.Incarnation{p.Joining})
		}
		if !slices.IsSorted(p.Disk) || len(slices.Compact(slices.Clone(p.Disk))) != len(p.Disk) {
			t.Fatalf("partition %d: the disks %v are out of order, or one is there twice", id, p.Disk)
		}
		if slices.Contains(p.InSync, p.Joining) {
			t.Fatalf("partition %d: %s joins %v", id, p.Joining, p.InSync)
		}
		if p.Term == 0 || p.Term > roster.Term(r.Version) || p.LostTerm == 0 || p.LostTerm > p.Term || p.Floor > r.Ceiling {
			t.Fatalf("partition %d at version %d and ceiling %d: %+v", id, r.Version, r.Ceiling, p)
		}
	}
}

// SamePartition takes no set for an empty one, and looks at no disks.
func SamePartition(a, b roster.Partition) bool {
	same := slices.Equal(a.InSync, b.InSync)
	a.InSync, b.InSync, a.Disk, b.Disk = nil, nil, nil, nil
	return same && reflect.DeepEqual(a, b)
}

// checkSet wants members of the roster, in order and each once.
func checkSet(t *rapid.T, r *roster.Roster, what string, set []roster.Incarnation) {
	for at, i := range set {
		if at > 0 && set[at-1] >= i {
			t.Fatalf("%s is not sorted, or has one twice: %v", what, set)
		}
		if _, found := r.Member(i); !found {
			t.Fatalf("%s has %s, which is not a member", what, i)
		}
	}
}

// Both puts two changes into one.
func Both(a, b roster.Change) roster.Change {
	return roster.Change{
		Join: slices.Concat(a.Join, b.Join), Remove: slices.Concat(a.Remove, b.Remove), Lose: slices.Concat(a.Lose, b.Lose),
		Take: slices.Concat(a.Take, b.Take), Add: slices.Concat(a.Add, b.Add), Admit: slices.Concat(a.Admit, b.Admit),
		Drop: slices.Concat(a.Drop, b.Drop), Settle: slices.Concat(a.Settle, b.Settle),
		Doubt: slices.Concat(a.Doubt, b.Doubt), Persist: slices.Concat(a.Persist, b.Persist),
		Strike: slices.Concat(a.Strike, b.Strike), Forget: slices.Concat(a.Forget, b.Forget), Window: max(a.Window, b.Window),
		Granted: max(a.Granted, b.Granted), Stop: max(a.Stop, b.Stop), Backups: cmp.Or(a.Backups, b.Backups),
		Voters: cmp.Or(a.Voters, b.Voters), Zones: slices.Concat(a.Zones, b.Zones), Quotas: slices.Concat(a.Quotas, b.Quotas),
		DropQuotas: slices.Concat(a.DropQuotas, b.DropQuotas), Protocol: max(a.Protocol, b.Protocol),
	}
}
