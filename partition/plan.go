package partition

import (
	"cmp"
	"slices"
)

// Sight is what a leader believes at some moment, from gossip and from its own
// calls. It may be wrong or late: uniqueness does not depend on it (R7).
type Sight struct {
	Join   []Member      // members that ask to join
	Gone   []Incarnation // incarnations that are confirmed dead or leave
	Assign bool          // partitions that nobody owned yet may get an owner now
	// Granted is the latest end of a grant of an earlier life of the grid that
	// a holder has shown; 0 if none has.
	Granted Tick
}

// Plan gives the next command that brings the roster in line with what was seen,
// or false if there is nothing to do. The command is always applicable to r.
//
//   - Who asks to join and is no member joins; who is gone does not, nor does
//     who has a malformed record. Of two incarnations of one member the lower
//     joins, for nothing tells which is the newer.
//   - A member that is gone is removed. A newer incarnation that joins removes
//     the older one (R8).
//   - Partitions of those who are taken out are lost (R3), as are partitions
//     nobody owned yet once they may be assigned. A partition whose owner stays
//     is never moved.
//   - If an earlier life granted beyond a floor, which says that the bound on
//     clocks was broken under which the grid began, every partition is lost anew,
//     above those grants (S2).
//
// If nobody would be left, nothing is done: there is nobody to give anything to.
func Plan(r *Roster, s Sight) (Command, bool) {
	if !r.Formed() {
		return Command{}, false
	}
	c := Change{Join: joiners(r, s), Remove: removed(r, s)}
	staying := stayers(r, c)
	if len(staying) == 0 {
		return Command{}, false
	}
	again := s.Granted > 0 && lowestFloor(r) < s.Granted
	if again {
		c.Granted = s.Granted
	}
	c.Lose = losses(r, staying, s.Assign, again)
	return Command{From: r.Version, Change: &c}, !c.isEmpty()
}

// joiners gives those who ask to join and may, sorted, one for each member ID.
func joiners(r *Roster, s Sight) []Member {
	join := slices.DeleteFunc(slices.Clone(s.Join), func(m Member) bool {
		_, known := r.Member(m.Incarnation)
		return known || m.fault() != "" || slices.Contains(s.Gone, m.Incarnation)
	})
	slices.SortFunc(join, compareRecords)
	return slices.CompactFunc(join, func(a, b Member) bool {
		return a.Incarnation.Member() == b.Incarnation.Member()
	})
}

// compareRecords orders all records, so that even of two that name one
// incarnation the same is chosen whatever order they were seen in.
func compareRecords(a, b Member) int {
	return cmp.Or(
		cmp.Compare(a.Incarnation, b.Incarnation),
		cmp.Compare(a.API, b.API),
		cmp.Compare(a.Raft, b.Raft),
		cmp.Compare(a.Gossip, b.Gossip),
		compareFlags(a.Durable, b.Durable),
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

// removed gives the members that are gone, sorted.
func removed(r *Roster, s Sight) []Incarnation {
	var out []Incarnation
	for _, m := range r.Members {
		if slices.Contains(s.Gone, m.Incarnation) {
			out = append(out, m.Incarnation)
		}
	}
	return out
}

// stayers gives all members as they will be after a change, sorted.
func stayers(r *Roster, c Change) []Incarnation {
	out := make(map[Incarnation]bool)
	for _, i := range c.Remove {
		out[i] = true
	}
	joining := make(map[MemberID]bool)
	for _, m := range c.Join {
		joining[m.Incarnation.Member()] = true
	}
	var staying []Incarnation
	for _, m := range r.Members {
		if !out[m.Incarnation] && !joining[m.Incarnation.Member()] {
			staying = append(staying, m.Incarnation)
		}
	}
	for _, m := range c.Join {
		staying = append(staying, m.Incarnation)
	}
	slices.Sort(staying)
	return staying
}

// lowestFloor gives the smallest floor of an owned partition, or the ceiling if
// none is owned.
func lowestFloor(r *Roster) Tick {
	floor := r.Ceiling
	for _, p := range r.Partitions {
		if p.Owner != "" {
			floor = min(floor, p.Floor)
		}
	}
	return floor
}

// losses gives an owner to each partition whose owner does not stay, and to
// those nobody owned yet if they may be assigned. With again, those whose owner
// stays are lost too, and keep it.
func losses(r *Roster, staying []Incarnation, assign, again bool) []Loss {
	owns := make(map[Incarnation]int, len(staying))
	for _, i := range staying {
		owns[i] = 0
	}
	var lose []Loss
	var lost []ID
	for id, p := range r.Partitions {
		if _, stays := owns[p.Owner]; stays {
			owns[p.Owner]++
			if again {
				lose = append(lose, Loss{Partition: ID(id), Owner: p.Owner})
			}
		} else if p.Owner != "" || assign {
			lost = append(lost, ID(id))
		}
	}
	if len(lost) == 0 {
		return lose
	}
	placed := Place(staying, len(r.Partitions))
	limit := placeLimit(len(staying), len(r.Partitions))
	for _, id := range lost {
		owner := placed[id]
		if owns[owner] >= limit {
			owner = leastLoaded(staying, owns)
		}
		owns[owner]++
		lose = append(lose, Loss{Partition: id, Owner: owner})
	}
	return lose
}

// leastLoaded gives the first of those who own the fewest partitions. The ring
// alone does not see what the members own already, as joining moves nothing.
func leastLoaded(staying []Incarnation, owns map[Incarnation]int) Incarnation {
	return slices.MinFunc(staying, func(a, b Incarnation) int { return cmp.Compare(owns[a], owns[b]) })
}
