// Package plan computes the next roster command that a leader proposes.
//
// A [Planner] compares the roster with the leader's view of the members, a [Sight], and with a
// placement. A consistent hash ring ([Place]) spreads the owners over the members; each owner's
// backups are spread over all other members and over zones. Only the leader computes the placement,
// and the roster records it: to find an owner, members read the roster. Neither package roster nor
// the clients depend on the ring.
//
// The package is pure. The codes in comments (R3, D11) refer to rules in proof/RULES.md.
package plan

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Sight is a leader's current view, from gossip and its own calls. It may be wrong or late:
// uniqueness does not depend on it (R7).
type Sight struct {
	Join   []roster.Member      // members that request to join
	Leave  []roster.Incarnation // members that request to leave
	Silent []roster.Incarnation // members that do not reply: replaced where another replica is in sync
	Gone   []roster.Incarnation // incarnations confirmed dead: replaced even if that is a loss
	Apart  []Pair               // pairs that cannot reach each other, ascending, while the leader reaches both
	Held   []roster.Holding     // joining replicas that hold their tables, as reported by owners
	// Persisted lists the partitions with tables on the disks of all durable in-sync replicas, as
	// reported by their owners.
	Persisted []roster.Persisted
	Assign    bool // partitions without an earlier owner may get one
	Patient   bool // only urgent changes are due: joins in progress need the version a little longer
	// Zones has the stated zones of members that have replied.
	Zones map[roster.Incarnation]string
	// Keepers lists the voters of a grid without data directories, sorted.
	Keepers []roster.Incarnation
	// Granted is the latest end of a grant, from an earlier generation of the grid, that a holder
	// has presented; 0 for none.
	Granted clustertime.Tick
	// Limit bounds the ceiling in an anchored grid, at least Granted; 0 in
	// other grids.
	Limit clustertime.Tick
}

// Pair is two members, A before B.
type Pair struct{ A, B roster.Incarnation }

// PairOf returns the pair of two members.
func PairOf(a, b roster.Incarnation) Pair { return Pair{min(a, b), max(a, b)} }

// maxJoining is the maximum number of partitions that copy their table to a new replica
// concurrently.
const maxJoining = 64

// Planner computes commands. It keeps only the last placement and the last input for which nothing
// was due. Its zero value is ready.
type Planner struct {
	calm struct { // the last input without a due change
		roster  *roster.Roster // nil after a change
		sight   Sight
		command roster.Command
	}

	members    []candidate
	partitions int
	copies     int
	placed     [][]roster.MemberID
}

// Plan returns the next command that brings the roster in line with the leader's view, or false if
// there is nothing to do. The command always applies to r.
//
//   - A process that requests to join becomes a member, unless it is gone or has a malformed
//     record. If two incarnations of one member request it, the lower joins, since their order is
//     unknown.
//   - A member that is gone is removed. A leaving member is removed when no partition needs it any
//     longer. A newer incarnation that joins replaces the older one (R8).
//   - A partition moves to another in-sync replica if its owner is silent, gone or replaced (R2).
//     If there is none and the owner is not merely silent, the partition is lost (R3). So are
//     partitions without an earlier owner once they may be assigned.
//   - A replica that its owner cannot reach is dropped, and no partition is placed on an owner and
//     a replica that cannot reach each other. No other replica is dropped for a voter that the owner
//     cannot reach. A member that cannot reach most others counts as silent.
//   - Then partitions move to their placement, a bounded number at a time: a replica joins, is
//     admitted, and becomes the owner if it is placed first; replicas that are not placed are
//     dropped. Every step depends only on the roster, so the next leader continues with it.
//   - Disks with every definition are named, and dead members' disks stay named until then: a power
//     failure may look like one death after another, and each disk is complete. No in-sync replica
//     is dropped before another disk is named. If the grid has durable members, each partition is
//     placed on at least one.
//   - If an earlier grid granted beyond a floor, the assumption about clocks at the start of the
//     grid was wrong. Every partition is lost again, above those grants (S2).
//
// If no member would be left, nothing is done.
//
// The caller must not change r or s afterwards: a leader plans ten times a second, and Plan returns
// early if r and s equal the last input without a due change.
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

// change plans everything except Settle.
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

// place computes the placement if the set of placeable members has changed.
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

// settled returns the members whose replicas are all in sync after c: all unsettled ones, if no
// further change is due and all members reply.
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
	silent := slices.ContainsFunc(append(slices.Clone(s.Silent), s.cutOff(next)...),
		func(i roster.Incarnation) bool { _, member := next.Member(i); return member })
	if len(ready) == 0 || silent || !next.Assigned() || next.Joining() > 0 || len(removed(next, s)) > 0 {
		return nil
	}
	s.Patient, s.Held, s.Persisted, s.Granted = false, nil, nil, 0
	if more := p.change(next, s); !more.IsEmpty() {
		return nil
	}
	return ready
}

// joiners returns the members that request to join and may, sorted, one per member ID.
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

// compareRecords is a total order on records: if two records have the same incarnation, every input
// order selects the same one.
func compareRecords(a, b roster.Member) int {
	return cmp.Or(
		cmp.Compare(a.Incarnation, b.Incarnation),
		cmp.Compare(a.API, b.API),
		cmp.Compare(a.Raft, b.Raft),
		cmp.Compare(a.Gossip, b.Gossip),
		like(a.Durable, true)-like(b.Durable, true),
		cmp.Compare(a.Zone, b.Zone),
	)
}

// removed returns, sorted, the members that are gone, and the leaving members that no partition
// needs any longer.
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

// lowestFloor returns the lowest floor among owned partitions, or the ceiling if none is owned.
func lowestFloor(r *roster.Roster) clustertime.Tick {
	floor := r.Ceiling
	for _, p := range r.Partitions {
		if p.Owner != "" {
			floor = min(floor, p.Floor)
		}
	}
	return floor
}
