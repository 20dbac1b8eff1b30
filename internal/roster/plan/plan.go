// Package plan computes the next roster command that a leader proposes.
//
// A [Planner] compares the roster with the leader's view of the members, a [Sight],
// and with a placement: a consistent hash ring ([Place]) spreads the owners over the
// members, and the backups of each owner are spread over all others and over zones. Placement is computed by the leader alone and is recorded in the roster: no other
// member computes it again to find an owner. Package roster does not depend on the ring,
// and neither do the clients.
//
// The package is pure. The letters in comments (R3, D11) are the rules of proof/RULES.md.
package plan

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Sight is the view of a leader at some moment, from gossip and from its own
// calls. It may be wrong or late: uniqueness does not depend on it (R7).
type Sight struct {
	Join   []roster.Member      // members that ask to join
	Leave  []roster.Incarnation // members that want to leave
	Silent []roster.Incarnation // members that do not answer: replaced where another replica is in sync
	Gone   []roster.Incarnation // incarnations that are confirmed dead, also where that is a loss
	Apart  []Pair               // members that do not reach each other, ascending, while the leader reaches both
	Held   []roster.Holding     // joining replicas that hold their tables, as their owners say
	// Persisted are partitions whose tables are on the disks of all durable in-sync
	// replicas, as their owners say.
	Persisted []roster.Persisted
	Assign    bool // partitions without an earlier owner may get one now
	Patient   bool // only urgent changes are due: joins in progress need the version a little longer
	// Zones are the zones that members state, of those that have answered.
	Zones map[roster.Incarnation]string
	// Keepers are the voters of a grid without data directories, sorted.
	Keepers []roster.Incarnation
	// Granted is the latest end of a grant of an earlier life of the grid that
	// a holder has shown; 0 if none has.
	Granted clustertime.Tick
	// Limit bounds the ceiling in an anchored grid, at least Granted; 0 in
	// other grids.
	Limit clustertime.Tick
}

// Pair is two members, A before B.
type Pair struct{ A, B roster.Incarnation }

// PairOf returns two members as a pair.
func PairOf(a, b roster.Incarnation) Pair { return Pair{min(a, b), max(a, b)} }

// maxJoining is how many partitions copy their table to a new replica at a time.
const maxJoining = 64

// Planner computes commands. It keeps nothing but the last placement, and what it has seen
// when nothing was due; its zero value is ready.
type Planner struct {
	calm struct { // when nothing was due
		roster  *roster.Roster // nil since something was
		sight   Sight
		command roster.Command
	}

	members    []candidate
	partitions int
	copies     int
	placed     [][]roster.MemberID
}

// Plan returns the next command that brings the roster in line with the leader's view, or
// false if there is nothing to do. The command is always applicable to r.
//
//   - A process that asks to join becomes a member, unless it is gone or has a
//     malformed record. Of two incarnations of one member the lower joins, since
//     their order is unknown.
//   - A member that is gone is removed; one that leaves is removed when no partition
//     needs it any longer. A newer incarnation that joins removes the older (R8).
//   - A partition whose owner is silent, gone or replaced goes to another in-sync
//     replica (R2). If there is none and the owner is not merely silent, the
//     partition is lost (R3), as are partitions without an earlier owner once they may
//     be assigned.
//   - A replica that its owner does not reach is dropped, and no partition is placed on two members of
//     which one would own it and not reach the other. A member that does not reach most others is silent.
//   - Then partitions move, a bounded number at a time, to where the ring places
//     them: a replica joins, is admitted, becomes the owner if it is placed first, and
//     replicas that the ring does not name are dropped. Every step starts from the
//     roster alone, so the next leader continues with it.
//   - Disks that have everything are named, and those of the dead stay named until then: a
//     power failure may look like one death after the other, and each of the disks is good.
//     No replica in sync is dropped before a disk is named that stays. Where the grid has durable members, each partition is
//     placed on one at least.
//   - If an earlier grid granted beyond a floor, the assumption about clocks at the
//     start of the grid was wrong, and every partition is lost again, above those
//     grants (S2).
//
// If no member would be left, nothing is done.
//
// The caller changes neither r nor s afterwards: a leader plans ten times a second, and
// nothing is due for a roster and a sight that equal those of the last plan without a change.
func (p *Planner) Plan(r *roster.Roster, s Sight) (roster.Command, bool) {
	if !r.Formed() {
		return roster.Command{}, false
	}
	if r == p.calm.roster && reflect.DeepEqual(s, p.calm.sight) {
		return p.calm.command, false
	}
	c := p.change(r, s)
	c.Settle = p.settled(r, s, c)
	command := roster.Command{From: r.Version, Claim: r.Claim, Change: &c}
	if !c.IsEmpty() {
		p.calm.roster = nil
		return command, true
	}
	p.calm.roster, p.calm.sight, p.calm.command = r, s, command
	return command, false
}

// change plans everything but who is settled by it.
func (p *Planner) change(r *roster.Roster, s Sight) roster.Change {
	c := roster.Change{Join: joiners(r, s), Remove: removed(r, s)}
	rezone(r, s, &c)
	rekeep(r, s, &c)
	v := newView(r, s, c)
	if len(v.staying) == 0 {
		return roster.Change{}
	}
	v.again = s.Granted > 0 && lowestFloor(r) < s.Granted
	if v.again {
		c.Granted, c.Limit = s.Granted, s.Limit
	}
	p.place(v)
	for id := range r.Partitions {
		v.step(roster.PartitionID(id), &c, p.placed[id])
	}
	c.Doubt = v.doubted()
	c.Persist = v.persisted(c)
	return c
}

// place computes the placement if the members that may have partitions changed.
func (p *Planner) place(v *view) {
	var members []candidate
	for _, i := range v.placeable() {
		members = append(members, candidate{member: i.Member(), durable: v.durable[i], zone: v.zone[i]})
	}
	if partitions, copies := len(v.r.Partitions), v.r.Settings.Backups; !slices.Equal(members, p.members) ||
		partitions != p.partitions || copies != p.copies {
		p.members, p.partitions, p.copies = members, partitions, copies
		p.placed = spread(members, partitions, copies)
	}
}

// settled returns the members whose replicas are all in sync after c: all unsettled ones,
// if nothing is left to do and all members answer.
func (p *Planner) settled(r *roster.Roster, s Sight, c roster.Change) []roster.Incarnation {
	next := r
	if !c.IsEmpty() {
		after, err := r.Apply(roster.Command{From: r.Version, Claim: r.Claim, Change: &c})
		if err != nil {
			return nil
		}
		next = after
	}
	ready := next.Unsettled
	silent := slices.ContainsFunc(append(slices.Clone(s.Silent), s.cutOff(next)...), func(i roster.Incarnation) bool { _, member := next.Member(i); return member })
	if len(ready) == 0 || silent || !next.Assigned() || next.Joining() > 0 || len(removed(next, s)) > 0 {
		return nil
	}
	s.Patient, s.Held, s.Persisted, s.Granted = false, nil, nil, 0
	if more := p.change(next, s); !more.IsEmpty() {
		return nil
	}
	return ready
}

// joiners gives those who ask to join and may, sorted, one for each member ID.
func joiners(r *roster.Roster, s Sight) []roster.Member {
	join := slices.DeleteFunc(slices.Clone(s.Join), func(m roster.Member) bool {
		_, known := r.Member(m.Incarnation)
		return known || m.Check() != nil || slices.Contains(s.Gone, m.Incarnation) || slices.Contains(s.Leave, m.Incarnation)
	})
	slices.SortFunc(join, compareRecords)
	return slices.CompactFunc(join, func(a, b roster.Member) bool {
		return a.Incarnation.Member() == b.Incarnation.Member()
	})
}

// compareRecords orders all records, so that even of two that name one
// incarnation the same is chosen whatever order they were seen in.
func compareRecords(a, b roster.Member) int {
	return cmp.Or(
		cmp.Compare(a.Incarnation, b.Incarnation),
		cmp.Compare(a.API, b.API),
		cmp.Compare(a.Raft, b.Raft),
		cmp.Compare(a.Gossip, b.Gossip),
		compareFlags(a.Durable, b.Durable),
		cmp.Compare(a.Zone, b.Zone),
	)
}

// compareFlags puts false before true.
func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// removed returns, sorted, the members that are gone, and those that leave and that no
// partition needs any longer.
func removed(r *roster.Roster, s Sight) []roster.Incarnation {
	needed := make(map[roster.Incarnation]bool)
	for _, p := range r.Partitions {
		needed[p.Owner], needed[p.Joining] = true, true
		for _, i := range p.InSync {
			needed[i] = true
		}
	}
	var out []roster.Incarnation
	for _, m := range r.Members {
		i := m.Incarnation
		if slices.Contains(s.Gone, i) || slices.Contains(s.Leave, i) && !needed[i] {
			out = append(out, i)
		}
	}
	return out
}

// lowestFloor gives the smallest floor of an owned partition, or the ceiling if
// none is owned.
func lowestFloor(r *roster.Roster) clustertime.Tick {
	floor := r.Ceiling
	for _, p := range r.Partitions {
		if p.Owner != "" {
			floor = min(floor, p.Floor)
		}
	}
	return floor
}
