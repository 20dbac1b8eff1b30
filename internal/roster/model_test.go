package roster_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// checkRaise fails the test unless next is before after a raise: only time and ceiling
// change, never back, and an orderly stop is over.
func checkRaise(t *rapid.T, before, next *roster.Roster, c roster.Raise) {
	want := *before
	want.Time = max(before.Time, c.Time)
	want.Ceiling = max(before.Ceiling, c.Time.Add(before.Settings.Window))
	want.Stopped = 0
	if !reflect.DeepEqual(&want, next) {
		t.Fatalf("raise to %d of\n%+v gave\n%+v", c.Time, before, next)
	}
}

// checkChange fails the test unless next is before after a change, by a model that
// computes one part of the change at a time.
func checkChange(t *rapid.T, before, next *roster.Roster, c roster.Change) {
	stopped := c.Stop
	if stopped == 0 && len(c.Lose)+len(c.Take) == 0 && c.Granted == 0 {
		stopped = before.Stopped
	}
	if next.Version != before.Version+1 || next.Time != before.Time || next.Stopped != stopped ||
		next.Ceiling != max(before.Ceiling, c.Granted) || next.Settings != settingsAfter(before.Settings, c) {
		t.Fatalf("%+v of\n%+v gave\n%+v", c, before, next)
	}
	if c.Stop > 0 {
		alone := roster.Change{Stop: c.Stop}
		if len(before.Members) != 1 || !before.Members[0].Durable ||
			!reflect.DeepEqual(rostertest.Both(c, roster.Change{}), alone) ||
			c.Stop > before.Ceiling {
			t.Fatalf("a stop was accepted: %+v of %+v", c, before)
		}
	}
	checkQuotas(t, before, next, c)
	out := checkMembers(t, before, next, c)
	checkUnsettled(t, before, next, c)
	moved := make([]int, len(before.Partitions))
	for _, l := range c.Lose {
		moved[l.Partition]++
		checkLoss(t, before, next, c, l)
	}
	for kind, moves := range map[string][]roster.Replica{"take": c.Take, "add": c.Add, "admit": c.Admit, "drop": c.Drop} {
		for _, m := range moves {
			moved[m.Partition]++
			checkMove(t, before.Partitions[m.Partition], next, kind, m, out)
		}
	}
	checkDisks(t, before, next, c)
	for id, n := range moved {
		rest := cleared(before.Partitions[id], out)
		if n > 1 || n == 0 && !rostertest.SamePartition(rest, next.Partitions[id]) {
			t.Fatalf("partition %d was moved %d times: %+v after %+v", id, n, next.Partitions[id], rest)
		}
	}
}

// settingsAfter gives the settings after a change.
func settingsAfter(s roster.Settings, c roster.Change) roster.Settings {
	s.Window = max(s.Window, c.Window)
	if c.Backups != nil {
		s.Backups = *c.Backups
	}
	if c.Expect != 0 {
		s.Expect = c.Expect
	}
	switch c.Voters {
	case 0:
	case 3:
		s.Voters = 0
	default:
		s.Voters = c.Voters
	}
	return s
}

// checkQuotas checks that the quotas are the old ones, less the dropped, with the new rows.
func checkQuotas(t *rapid.T, before, next *roster.Roster, c roster.Change) {
	want := map[string]roster.Quota{}
	for _, q := range before.Quotas {
		want[string(q.Pattern)] = q
	}
	for _, p := range c.DropQuotas {
		delete(want, string(p))
	}
	for _, q := range c.Quotas {
		want[string(q.Pattern)] = q
	}
	var rows []roster.Quota
	for _, p := range slices.Sorted(maps.Keys(want)) {
		rows = append(rows, want[p])
	}
	if !reflect.DeepEqual(next.Quotas, rows) {
		t.Fatalf("%+v of %+v gave the quotas %+v at protocol %v", c, before.Quotas, next.Quotas, next.InUse())
	}
}

// checkMembers checks that the members are the old ones without the removed and the
// restarted ones, plus the joining ones. It returns the members that are out.
func checkMembers(t *rapid.T, before, next *roster.Roster, c roster.Change) []roster.Incarnation {
	var want []roster.Member
	var out []roster.Incarnation
	for _, m := range before.Members {
		replaced := slices.ContainsFunc(c.Join, func(j roster.Member) bool {
			return j.Incarnation.Member() == m.Incarnation.Member() && j.Incarnation != m.Incarnation
		})
		if replaced || slices.Contains(c.Remove, m.Incarnation) {
			out = append(out, m.Incarnation)
		} else {
			want = append(want, m)
		}
	}
	for _, m := range c.Join {
		if !slices.Contains(want, m) {
			want = append(want, m)
		}
	}
	for _, z := range c.Zones {
		for i := range want {
			if want[i].Incarnation == z.Member {
				want[i].Zone = z.Zone
			}
		}
	}
	slices.SortFunc(want, func(a, b roster.Member) int {
		return strings.Compare(string(a.Incarnation),
			string(b.Incarnation))
	})
	if !slices.Equal(want, next.Members) {
		t.Fatalf("members %v after %v and %+v", next.Members, before.Members, c)
	}
	return out
}

// checkUnsettled: joining and suspected members are unsettled, settled members and
// non-members are not.
func checkUnsettled(t *rapid.T, before, next *roster.Roster, c roster.Change) {
	var want []roster.Incarnation
	for _, m := range next.Members {
		i := m.Incarnation
		_, known := before.Member(i)
		if (!known || !before.Settled(i) || slices.Contains(c.Doubt, i)) && !slices.Contains(c.Settle, i) {
			want = append(want, i)
		}
	}
	if !slices.Equal(want, next.Unsettled) {
		t.Fatalf("unsettled %v after %v and %+v", next.Unsettled, before.Unsettled, c)
	}
}

// checkLoss is R3, with the exception of S1.
func checkLoss(t *rapid.T, before, next *roster.Roster, c roster.Change, l roster.Loss) {
	floor := max(before.Ceiling, c.Granted)
	if before.Stopped > 0 {
		floor = max(before.Stopped, c.Granted)
	}
	term := roster.Term(next.Version)
	set := slices.Sorted(slices.Values(append(slices.Clone(l.With), l.Owner)))
	want := roster.Partition{Owner: l.Owner, InSync: set, Term: term, Floor: floor, LostTerm: term}
	if !rostertest.SamePartition(want, next.Partitions[l.Partition]) {
		t.Fatalf("%+v gave %+v, want %+v", l, next.Partitions[l.Partition], want)
	}
}

// checkMove is R2, R4 and R5. Removed members have left the sets before.
func checkMove(t *rapid.T, old roster.Partition, next *roster.Roster, kind string, m roster.Replica,
	out []roster.Incarnation) {
	want := cleared(old, out)
	wasIn := slices.Contains(old.InSync, m.Member)
	var sound bool
	switch kind {
	case "take":
		sound = wasIn && old.Owner != m.Member
		want.Owner, want.Term, want.Floor = m.Member, roster.Term(next.Version), next.Ceiling
	case "add":
		sound = old.Owner != "" && !old.Keeps(m.Member)
		want.Joining = m.Member
	case "admit":
		sound = old.Joining == m.Member && !wasIn
		want.InSync = slices.Sorted(slices.Values(append(want.InSync, m.Member)))
		want.Joining = ""
	case "drop":
		sound = old.Owner != m.Member && old.Keeps(m.Member)
		want = cleared(want, []roster.Incarnation{m.Member})
	}
	if !sound || slices.Contains(out, m.Member) {
		t.Fatalf("%s %+v was accepted for %+v", kind, m, old)
	}
	if got := next.Partitions[m.Partition]; !rostertest.SamePartition(got, want) {
		t.Fatalf("%s %+v gave %+v, want %+v", kind, m, got, want)
	}
}

// cleared gives the partition without those who are out. Its owner stays: only
// a new owner makes up for one that is out.
func cleared(p roster.Partition, out []roster.Incarnation) roster.Partition {
	isOut := func(i roster.Incarnation) bool { return slices.Contains(out, i) }
	p.InSync = slices.DeleteFunc(slices.Clone(p.InSync), isOut)
	if isOut(p.Joining) {
		p.Joining = ""
	}
	return p
}

// checkDisks says once more whose disks a change names (D3, D4, D10).
func checkDisks(t *rapid.T, before, next *roster.Roster, c roster.Change) {
	for at, old := range before.Partitions {
		id, p := roster.PartitionID(at), next.Partitions[at]
		isLost := slices.ContainsFunc(c.Lose, func(l roster.Loss) bool { return l.Partition == id })
		want := slices.Clone(old.Disk)
		if slices.Contains(c.Persist, id) {
			if want = nil; isLost {
				t.Fatalf("partition %d is lost and its disks are named: %+v", id, c)
			}
			for _, i := range old.InSync {
				if m, _ := before.Member(i); m.Durable {
					want = append(want, i.Member())
				}
			}
			if len(want) == 0 {
				t.Fatalf("no disk is left for partition %d by %+v", id, c)
			}
		}
		var members, were []roster.MemberID
		for _, i := range p.InSync {
			members = append(members, i.Member())
		}
		for _, i := range old.InSync {
			were = append(were, i.Member())
		}
		struck := slices.DeleteFunc(slices.Clone(want), func(m roster.MemberID) bool {
			return slices.Contains(c.Strike, m) && slices.Contains(were, m) && !slices.Contains(members, m)
		})
		if !isLost && slices.ContainsFunc(struck, func(m roster.MemberID) bool { return slices.Contains(members, m) }) {
			want = struck
		}
		want = slices.DeleteFunc(want, func(m roster.MemberID) bool { return slices.Contains(c.Forget, m) })
		slices.Sort(want)
		if !slices.Equal(want, p.Disk) {
			t.Fatalf("%+v of\n%+v named the disks %v, want %v", c, old, p.Disk, want)
		}
	}
}
