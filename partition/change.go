package partition

import "slices"

// Change is one step of the roster from a version to the next. All its parts
// take effect together.
type Change struct {
	// Join are new members. A new incarnation of a known member takes the older
	// one out of everything (R8). One that is a member already, with the same
	// record, is left as it is, so a change of nothing else is a mere step of
	// the version.
	Join []Member `json:"join,omitempty"`
	// Remove are members that are dead or leave. They also leave the in-sync
	// sets, where term and floor stay (R4).
	Remove []Incarnation `json:"remove,omitempty"`
	// Lose names new owners of partitions without one that can go on: those
	// nobody owned yet, and those of owners that are taken out (R3).
	Lose []Loss `json:"lose,omitempty"`
	// Window is the new window in milliseconds, larger than before; 0 leaves it.
	Window Tick `json:"window_ms,omitempty"`
	// Granted is where grants of an earlier life of the grid end that somebody
	// still holds. The ceiling goes there before floors are taken from it, so
	// that partitions lost in the same change start above those grants (S2); 0
	// leaves it.
	Granted Tick `json:"granted_ms,omitempty"`
}

// Loss gives a partition to an owner that starts it afresh: the new version is
// its term and the term of its last loss, its floor is the ceiling at this
// place of the log, and nobody but the owner is in sync (R3).
type Loss struct {
	Partition ID          `json:"partition"`
	Owner     Incarnation `json:"owner"`
}

func (c Change) isEmpty() bool {
	return len(c.Join) == 0 && len(c.Remove) == 0 && len(c.Lose) == 0 && c.Window == 0 && c.Granted == 0
}

// change applies a change in three independent parts: who is a member, who owns
// what, and the window.
func (r *Roster) change(c Change) (*Roster, error) {
	if c.isEmpty() {
		return nil, refused("it changes nothing")
	}
	if c.Window != 0 && (c.Window <= r.Settings.Window || c.Window > MaxWindow) {
		return nil, refused("window %d ms must be above %d, as it only grows, and at most %d",
			c.Window, r.Settings.Window, MaxWindow)
	}
	if c.Granted < 0 || c.Granted > latest {
		return nil, refused("grants of an earlier life end at %d ms, which is no time from 1970 to 9999", c.Granted)
	}
	out, err := r.leaving(c)
	if err != nil {
		return nil, err
	}
	next := *r
	next.Version++
	next.Ceiling = max(r.Ceiling, c.Granted)
	next.Settings.Window = max(c.Window, r.Settings.Window)
	next.Members = membersAfter(r.Members, c.Join, out)
	if err := next.reassign(c.Lose, out); err != nil {
		return nil, err
	}
	return &next, nil
}

// leaving checks who joins and who is removed, and gives everybody who is no
// member after the change: the removed and the older incarnations of those who
// join (R8).
func (r *Roster) leaving(c Change) (map[Incarnation]bool, error) {
	out := make(map[Incarnation]bool)
	for _, i := range c.Remove {
		if _, found := r.Member(i); !found {
			return nil, refused("%q is to be removed and is no member", string(i))
		}
		if out[i] {
			return nil, refused("%s is to be removed twice", i)
		}
		out[i] = true
	}
	joining := make(map[MemberID]Incarnation)
	for _, m := range c.Join {
		if err := r.checkJoin(m, joining, out); err != nil {
			return nil, err
		}
		joining[m.Incarnation.Member()] = m.Incarnation
	}
	for _, m := range r.Members {
		if newer, found := joining[m.Incarnation.Member()]; found && newer != m.Incarnation {
			out[m.Incarnation] = true
		}
	}
	return out, nil
}

func (r *Roster) checkJoin(m Member, joining map[MemberID]Incarnation, removed map[Incarnation]bool) error {
	if fault := m.fault(); fault != "" {
		return refused("%s", fault)
	}
	if removed[m.Incarnation] {
		return refused("%s is to join and to be removed", m.Incarnation)
	}
	if twin, found := joining[m.Incarnation.Member()]; found {
		return refused("%s and %s are one member and are both to join", twin, m.Incarnation)
	}
	if known, found := r.Member(m.Incarnation); found && known != m {
		return refused("%s is a member with another record", m.Incarnation)
	}
	return nil
}

// membersAfter gives the sorted members without those that are out and with
// those that join; the same slice if these are the same.
func membersAfter(members, join []Member, out map[Incarnation]bool) []Member {
	isOut := func(m Member) bool { return out[m.Incarnation] }
	isKnown := func(m Member) bool {
		_, found := searchMember(members, m.Incarnation)
		return found
	}
	joining := slices.DeleteFunc(slices.Clone(join), isKnown)
	if len(out) == 0 && len(joining) == 0 {
		return members
	}
	after := slices.Concat(slices.DeleteFunc(slices.Clone(members), isOut), joining)
	sortMembers(after)
	return after
}

// reassign moves lost partitions to their new owners and takes those who are
// out from the in-sync sets. The roster has its new version and members already
// and still shares its partitions with the old one.
func (r *Roster) reassign(lose []Loss, out map[Incarnation]bool) error {
	if len(lose) == 0 && len(out) == 0 {
		return nil
	}
	r.Partitions = slices.Clone(r.Partitions)
	for id := range r.Partitions {
		r.Partitions[id].InSync = without(r.Partitions[id].InSync, out)
	}
	if err := r.lose(lose); err != nil {
		return err
	}
	for id, p := range r.Partitions {
		if out[p.Owner] {
			return refused("%s is taken out and partition %d, which it owns, is given to nobody", p.Owner, id)
		}
	}
	return nil
}

// lose applies R3 to each partition of the list.
func (r *Roster) lose(lose []Loss) error {
	term := Term(r.Version)
	for _, l := range lose {
		if int(l.Partition) >= len(r.Partitions) {
			return refused("there is no partition %d, only %d of them", l.Partition, len(r.Partitions))
		}
		if _, found := r.Member(l.Owner); !found {
			return refused("partition %d is given to %q, which is no member", l.Partition, string(l.Owner))
		}
		if r.Partitions[l.Partition].Term == term {
			return refused("partition %d is given away twice", l.Partition)
		}
		r.Partitions[l.Partition] = Partition{
			Owner:    l.Owner,
			InSync:   []Incarnation{l.Owner},
			Term:     term,
			Floor:    r.Ceiling,
			LostTerm: term,
		}
	}
	return nil
}

// without gives the set less those who are out; the same slice if none is in it.
func without(set []Incarnation, out map[Incarnation]bool) []Incarnation {
	isOut := func(i Incarnation) bool { return out[i] }
	if !slices.ContainsFunc(set, isOut) {
		return set
	}
	return slices.DeleteFunc(slices.Clone(set), isOut)
}
