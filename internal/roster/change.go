package roster

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Change moves the roster from one version to the next. All its parts take effect together. A
// partition is in at most one list among Lose, Take, Add, Admit and Drop.
type Change struct {
	// Join lists new members. A new incarnation of a known member replaces the older one everywhere
	// (R8). An existing member with the same record is unchanged.
	Join []Member `json:"join,omitempty"`
	// Remove lists members that are dead or leave. They also leave the in-sync sets; terms and
	// floors stay (R4).
	Remove []Incarnation `json:"remove,omitempty"`
	// Lose assigns new owners to partitions without a replica that can continue: they have had no
	// owner, or their replicas are gone (R3).
	Lose []Loss `json:"lose,omitempty"`
	// Take makes an in-sync replica the owner (R2). The other replicas stay in sync.
	Take []Replica `json:"take,omitempty"`
	// Add starts a join: from now on the owner needs the joining member in every acknowledgement
	// (R5).
	Add []Replica `json:"add,omitempty"`
	// Admit moves a joining replica into the in-sync set. The owner has reported, at exactly the
	// version this change is computed from, that the replica holds the table (R5).
	Admit []Replica `json:"admit,omitempty"`
	// Drop removes a replica other than the owner from the in-sync set (R4), or cancels a join.
	Drop []Replica `json:"drop,omitempty"`
	// Persist lists partitions with a table on the disk of every durable in-sync replica. The owner
	// reported it at exactly the version this change is computed from. The change names those disks
	// for the partition (D4).
	Persist []PartitionID `json:"persist,omitempty"`
	// Strike lists dead members. Where this change removes them from an in-sync set, their disks
	// are no longer named, if an in-sync replica's disk stays named (D3). Leaders do not use it:
	// see DESIGN.md, "Why leaders strike no disks".
	Strike []MemberID `json:"strike,omitempty"`
	// Forget lists members with disks that are given up permanently, even if no other disk is
	// named. They must not be in the grid (D10).
	Forget []MemberID `json:"forget,omitempty"`
	// Keepers replaces the voters of a grid without data directories; empty leaves them.
	Keepers []Incarnation `json:"keepers,omitempty"`
	// Settle lists members that now have all their replicas in sync.
	Settle []Incarnation `json:"settle,omitempty"`
	// Doubt lists members that do not reply; they are no longer settled.
	Doubt []Incarnation `json:"doubt,omitempty"`
	// Window is the new window in milliseconds, larger than before; 0 leaves it.
	Window clustertime.Span `json:"window_ms,omitempty"`
	// Backups is the new number of backups, 0 to MaxBackups; it must differ from the current
	// number, and nil leaves it. The leader then adds or drops replicas, as after a join.
	Backups *int `json:"backups,omitempty"`
	// Voters is the new number of voters: 1, 3, 5 or 7. It must differ from the current number; 0
	// leaves it.
	Voters int `json:"voters,omitempty"`
	// Expect is the new number of expected members, 1 to MaxExpect. It must differ from the current
	// number; 0 leaves it.
	Expect int `json:"expect,omitempty"`
	// Quotas lists rows to add, or to replace by pattern; DropQuotas lists the patterns of rows to
	// remove.
	Quotas     []Quota            `json:"quotas,omitempty"`
	DropQuotas []spelling.Pattern `json:"drop_quotas,omitempty"`
	// Zones sets the zones of members that joined without one, or with another one.
	Zones []Zoning `json:"zones,omitempty"`
	// Granted is the end of grants of an earlier grid that a holder still has. The ceiling rises to
	// it before floors are computed, so that partitions lost in the same change start above those
	// grants (S2); 0 leaves it.
	Granted clustertime.Tick `json:"granted_ms,omitempty"`
	// Limit is the limit in an anchored grid's record under the roster's claim, as read by the
	// leader. It is at least Granted (A2); 0 without an anchor.
	Limit clustertime.Tick `json:"limit_ms,omitempty"`
	// Stop is the first tick that was not granted. The last member of a durable or anchored grid
	// sets it at a clean stop (S1); 0 leaves it unset.
	Stop clustertime.Tick `json:"stop_ms,omitempty"`
	// Protocol is the roster's protocol from this change on; every member supports it. 0 leaves it.
	// A lower protocol is refused while the roster uses a part that needs the higher one.
	Protocol Protocol `json:"protocol,omitempty"`
	Upcoming
}

// Replica identifies one member's copy of one partition.
type Replica struct {
	Partition PartitionID `json:"partition"`
	Member    Incarnation `json:"member"`
}

// Loss gives a partition to an owner that starts it empty. The new version becomes the partition's
// term and its term of last loss; the floor is the ceiling at this log entry. The owner and the
// other members in InSync start in sync, because all of their tables are empty (R3).
type Loss struct {
	Partition PartitionID   `json:"partition"`
	Owner     Incarnation   `json:"owner"`
	With      []Incarnation `json:"with,omitempty"`
}

// IsEmpty reports whether the change has no effect.
func (c Change) IsEmpty() bool {
	return len(c.Join) == 0 && len(c.Remove) == 0 && len(c.Settle) == 0 && len(c.Doubt) == 0 &&
		len(c.Keepers) == 0 &&
		len(c.Persist) == 0 && len(c.Strike) == 0 && len(c.Forget) == 0 && c.moves() == 0 && c.Window == 0 &&
		c.Backups == nil && c.Voters == 0 && c.Expect == 0 && len(c.Quotas)+len(c.DropQuotas) == 0 && len(c.Zones) == 0 &&
		c.Granted == 0 && c.Stop == 0 && c.Protocol == 0 && c.Upcoming == (Upcoming{})
}

// isStop reports whether the change is an orderly stop and nothing else.
func (c Change) isStop() bool {
	stop := c.Stop
	c.Stop = 0
	return stop > 0 && c.IsEmpty()
}

// moves returns the number of partition moves in the change.
func (c Change) moves() int {
	return len(c.Lose) + len(c.Take) + len(c.Add) + len(c.Admit) + len(c.Drop)
}

// change applies a change in independent parts: members, partitions and settings.
func (r *Roster) change(c Change) (*Roster, error) {
	if err := r.checkChange(c); err != nil {
		return nil, err
	}
	out, err := r.leaving(c)
	if err != nil {
		return nil, err
	}
	next := *r
	next.Version++
	next.Ceiling = max(r.Ceiling, c.Granted)
	next.Stopped = c.Stop
	if c.Stop == 0 && len(c.Lose)+len(c.Take) == 0 && c.Granted == 0 { // each owner has ended still
		next.Stopped = r.Stopped
	}
	next.Settings.Window = max(c.Window, r.Settings.Window)
	if c.Backups != nil {
		next.Settings.Backups = *c.Backups
	}
	if c.Voters != 0 {
		next.Settings.Voters = StoredVoters(c.Voters)
	}
	if c.Expect != 0 {
		next.Settings.Expect = c.Expect
	}
	if next.Quotas, err = r.quotasAfter(c); err != nil {
		return nil, err
	}
	if next.Members, err = zoned(membersAfter(r.Members, c.Join, out), c.Zones); err != nil {
		return nil, err
	}
	if next.Unsettled, err = r.unsettledAfter(c, next.Members); err != nil {
		return nil, err
	}
	lossFloor := max(r.granted(), c.Granted)
	if err := next.reassign(c, lossFloor, out); err != nil {
		return nil, err
	}
	if len(c.Keepers) > 0 {
		next.Keepers = c.Keepers
	}
	if err := next.redisk(c, r); err != nil {
		return nil, err
	}
	next.raiseUnowned(c.Granted)
	next.Settings.Upcoming = r.Settings.After(c.Upcoming)
	if c.Protocol != 0 {
		next.Protocol = c.Protocol.stored()
	}
	if needed, part := next.Needs(); needed > next.InUse() {
		return nil, refused("protocol %d lacks %s, which is in use and needs %d", next.InUse(), part, needed)
	}
	return &next, nil
}

// checkChange checks the parts that do not depend on members or partitions.
func (r *Roster) checkChange(c Change) error {
	switch {
	case c.IsEmpty():
		return refused("it changes nothing")
	case len(c.Strike) > 0 && len(c.Remove)+len(c.Drop) == 0:
		return refused("it removes dead members' disks, but no replica leaves an in-sync set")
	case c.Window != 0 && (c.Window <= r.Settings.Window || c.Window > MaxWindow):
		return refused("window %d ms must be above %d, as it only grows, and at most %d",
			c.Window, r.Settings.Window, MaxWindow)
	case c.Backups != nil && (*c.Backups < 0 || *c.Backups > MaxBackups || *c.Backups == r.Settings.Backups):
		return refused("backups %d must be 0 to %d, and differ from the grid's, %d", *c.Backups, MaxBackups,
			r.Settings.Backups)
	case c.Voters != 0 && (votersFault(c.Voters) != "" || c.Voters == r.Settings.MostVoters()):
		return refused("voters %d must be 1, 3, 5 or 7, and differ from the grid's, %d", c.Voters,
			r.Settings.MostVoters())
	case c.Expect < 0 || c.Expect > MaxExpect || c.Expect != 0 && c.Expect == r.Settings.Expect:
		return refused("expect %d must be 1 to %d, and differ from the grid's, %d", c.Expect, MaxExpect,
			r.Settings.Expect)
	case c.Granted < 0 || c.Granted > clustertime.Latest:
		return refused("an earlier grid's grants end at %d ms, which is not from 1970 to 9999", c.Granted)
	case c.Stop < 0 || c.Stop > r.Ceiling:
		return refused("the grid's grants end at %d ms, which is not from 0 to the ceiling, %d", c.Stop, r.Ceiling)
	case c.Stop > 0 && (len(r.Members) != 1 || !r.Members[0].Durable && r.Claim == "" || !c.isStop()):
		return refused("a clean stop requires one last member with a disk or an anchor, and no other changes")
	}
	return cmp.Or(r.checkLimit(c.Limit, c.Granted), r.checkKeepers(c.Keepers), r.checkRaised(c.Protocol),
		r.checkForget(c.Forget))
}

// leaving checks the joining and the removed members. It returns every incarnation that is not a
// member after the change: the removed ones, and older incarnations of joining members (R8).
func (r *Roster) leaving(c Change) (map[Incarnation]bool, error) {
	out := make(map[Incarnation]bool)
	for _, i := range c.Remove {
		if _, found := r.Member(i); !found {
			return nil, refused("cannot remove %q: it is not a member", string(i))
		}
		if out[i] {
			return nil, refused("%s is removed twice", i)
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
		return refused("%s both joins and is removed", m.Incarnation)
	}
	if twin, found := joining[m.Incarnation.Member()]; found {
		return refused("%s and %s both join, but are one member", twin, m.Incarnation)
	}
	if known, found := r.Member(m.Incarnation); found && known != m {
		return refused("%s is already a member, with another record", m.Incarnation)
	}
	return nil
}

// membersAfter returns the members, sorted, without out and with join. If nothing changes it
// returns the same slice.
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
	slices.SortFunc(after, func(a, b Member) int { return cmp.Compare(a.Incarnation, b.Incarnation) })
	return after
}

// unsettledAfter returns, sorted, the members with replicas that are not in sync: the previously
// unsettled, the joining and the doubted, without the settled and the removed.
func (r *Roster) unsettledAfter(c Change, members []Member) ([]Incarnation, error) {
	unsettled := slices.Clone(r.Unsettled)
	for _, m := range c.Join {
		if _, known := r.Member(m.Incarnation); !known {
			unsettled = append(unsettled, m.Incarnation)
		}
	}
	for _, i := range c.Doubt {
		if _, known := r.Member(i); !known || slices.Contains(unsettled, i) {
			return nil, refused("%q is not a member, or is already unsettled", string(i))
		}
		unsettled = append(unsettled, i)
	}
	for _, i := range c.Settle {
		if !slices.Contains(unsettled, i) {
			return nil, refused("%q is not unsettled", string(i))
		}
	}
	unsettled = slices.DeleteFunc(unsettled, func(i Incarnation) bool {
		_, stays := searchMember(members, i)
		return !stays || slices.Contains(c.Settle, i)
	})
	slices.Sort(unsettled)
	return slices.Compact(unsettled), nil
}
