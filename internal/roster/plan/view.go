package plan

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// view is the roster as a planning leader sees it: with the future members, and the reliable ones
// among them.
type view struct {
	r       *roster.Roster
	s       Sight
	again   bool // every partition is lost again
	staying []roster.Incarnation
	up      map[roster.Incarnation]bool // staying, and not silent
	durable map[roster.Incarnation]bool // staying, and with a data directory
	zone    map[roster.Incarnation]string
	current map[roster.MemberID]roster.Incarnation
	held    map[roster.Replica]bool // joins that may be admitted at this version
	joining int                     // number of partitions with a joining replica
	apart   map[Pair]bool
	cutOff  []roster.Incarnation // members that cannot reach most others
}

func newView(r *roster.Roster, s Sight, c roster.Change) *view {
	v := &view{r: r, s: s, cutOff: s.cutOff(r), apart: map[Pair]bool{}, up: map[roster.Incarnation]bool{},
		durable: map[roster.Incarnation]bool{}, zone: map[roster.Incarnation]string{},
		current: map[roster.MemberID]roster.Incarnation{}, held: map[roster.Replica]bool{}}
	for _, m := range c.Join {
		v.current[m.Incarnation.Member()] = m.Incarnation
		v.durable[m.Incarnation], v.zone[m.Incarnation] = m.Durable, m.Zone
	}
	for _, m := range r.Members {
		if _, replaced := v.current[m.Incarnation.Member()]; !replaced && !slices.Contains(c.Remove, m.Incarnation) {
			v.current[m.Incarnation.Member()] = m.Incarnation
			v.durable[m.Incarnation], v.zone[m.Incarnation] = m.Durable, m.Zone
		}
	}
	for _, z := range c.Zones {
		v.zone[z.Member] = z.Zone
	}
	for _, i := range v.current {
		v.staying = append(v.staying, i)
		v.up[i] = !slices.Contains(s.Silent, i) && !slices.Contains(v.cutOff, i)
	}
	slices.Sort(v.staying)
	for _, pair := range s.Apart {
		v.apart[pair] = true
	}
	for _, h := range s.Held {
		if h.Version == r.Version {
			v.held[h.Replica] = true
		}
	}
	v.joining = r.Joining()
	return v
}

// placeable returns the members that may have partitions: they stay, do not leave and are not cut
// off. If there are none, it returns all staying members.
func (v *view) placeable() []roster.Incarnation {
	out := slices.DeleteFunc(slices.Clone(v.staying), func(i roster.Incarnation) bool {
		return slices.Contains(v.s.Leave, i) || slices.Contains(v.cutOff, i)
	})
	if len(out) == 0 {
		return v.staying
	}
	return out
}

// step plans the next move of one partition, if one is due.
func (v *view) step(id roster.PartitionID, c *roster.Change, placed []roster.MemberID) {
	p := v.r.Partitions[id]
	var want []roster.Incarnation
	for _, member := range placed {
		want = append(want, v.current[member])
	}
	want = v.together(id, want)
	switch {
	case v.again && p.Owner != "" || p.Owner == "" && v.s.Assign:
		v.lose(id, c, want)
	case p.Owner == "":
	case !v.up[p.Owner] && !v.ownsAlone(p):
		v.replace(id, c, want)
	default:
		if silent := v.silent(p); silent != "" {
			c.Drop = append(c.Drop, roster.Replica{Partition: id, Member: silent})
		} else if !v.s.Patient {
			v.move(id, c, want)
		}
	}
}

// lose assigns a lost partition to the first reliable member in want, with the other reliable ones
// in sync.
func (v *view) lose(id roster.PartitionID, c *roster.Change, want []roster.Incarnation) {
	all := slices.DeleteFunc(slices.Clone(want), func(i roster.Incarnation) bool { return !v.up[i] })
	if len(all) == 0 {
		all = slices.DeleteFunc(slices.Clone(v.staying), func(i roster.Incarnation) bool { return !v.up[i] })
	}
	if len(all) == 0 {
		all = v.staying
	}
	c.Lose = append(c.Lose, roster.Loss{Partition: id, Owner: all[0], With: slices.Clone(all[1:min(len(all), len(want))])})
}

// replace selects another owner if a partition's owner does not reply: an in-sync replica that
// replies, wanted ones first. An owner that is gone is replaced even by a silent replica, which may
// return with the table. A merely silent owner keeps a partition without another replica.
func (v *view) replace(id roster.PartitionID, c *roster.Change, want []roster.Incarnation) {
	p := v.r.Partitions[id]
	_, stays := v.up[p.Owner]
	var next roster.Incarnation
	for _, i := range append(slices.Clone(want), p.InSync...) {
		up, member := v.up[i]
		if (up || member && !stays && next == "") && slices.Contains(p.InSync, i) {
			if next = i; up {
				break
			}
		}
	}
	switch {
	case next != "":
		c.Take = append(c.Take, roster.Replica{Partition: id, Member: next})
	case !stays:
		v.lose(id, c, want)
	}
}

// silent returns a replica that stays a member but does not reply, or cannot reach the owner; ""
// for none.
func (v *view) silent(p roster.Partition) roster.Incarnation {
	for _, i := range append(slices.Clone(p.InSync), p.Joining) {
		if up, stays := v.up[i]; stays && i != p.Owner && (!up || v.areApart(p.Owner, i)) {
			return i
		}
	}
	return ""
}

// move takes one step towards the wanted replicas. All of them are in sync before the owner
// changes, and the owner changes before a replica is dropped.
func (v *view) move(id roster.PartitionID, c *roster.Change, want []roster.Incarnation) {
	p := v.r.Partitions[id]
	inSync := func(i roster.Incarnation) bool { return slices.Contains(p.InSync, i) }
	missing := slices.DeleteFunc(slices.Clone(want),
		func(i roster.Incarnation) bool { return inSync(i) || !v.up[i] || v.areApart(p.Owner, i) })
	staying := slices.DeleteFunc(slices.Clone(p.InSync), func(i roster.Incarnation) bool {
		_, stays := v.up[i]
		return !stays
	})
	surplus := slices.DeleteFunc(slices.Clone(staying), func(i roster.Incarnation) bool {
		return slices.Contains(want, i) || i == p.Owner || v.keepsDisk(p, i) || v.partsOwner(id, i)
	})
	_, stays := v.up[p.Joining]
	switch {
	case p.Joining != "" && stays:
		switch r := (roster.Replica{Partition: id, Member: p.Joining}); {
		case !slices.Contains(want, p.Joining):
			c.Drop = append(c.Drop, r)
		case v.held[r]:
			c.Admit = append(c.Admit, r)
			v.joining--
		}
	case len(missing) > 0:
		if v.joining < maxJoining {
			c.Add = append(c.Add, roster.Replica{Partition: id, Member: missing[0]})
			v.joining++
		}
	case p.Owner != want[0] && inSync(want[0]) && v.up[want[0]] && !v.learning(p):
		c.Take = append(c.Take, roster.Replica{Partition: id, Member: want[0]})
	case len(surplus) > 0 && len(staying) > len(want): // a wanted replica may be silent
		c.Drop = append(c.Drop, roster.Replica{Partition: id, Member: surplus[0]})
	}
}

// learning reports whether a partition was lost so recently that its owner may still receive
// attachments from holders. Until then the partition does not move, unless its owner leaves: then
// the next owner, which was in sync, receives the rest.
func (v *view) learning(p roster.Partition) bool {
	return p.Term == p.LostTerm && v.r.Time < p.Floor && !slices.Contains(v.s.Leave, p.Owner)
}

// doubted returns, sorted, the silent members that count as settled.
func (v *view) doubted() []roster.Incarnation {
	var out []roster.Incarnation
	for _, i := range v.staying {
		if !v.up[i] && v.r.Settled(i) {
			out = append(out, i)
		}
	}
	return out
}
