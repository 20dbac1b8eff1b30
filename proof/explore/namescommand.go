package explore

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// commands appends each command that the scope allows at this version to the log.
func (l *nameLab) commands(w *nameWorld, emit emitName) {
	made := len(w.log) - 1
	if l.scope.Script != "" {
		l.scripted(w, made, emit)
		return
	}
	if made >= l.scope.Versions-1 {
		return
	}
	for _, move := range l.scope.Moves {
		for m := range w.members {
			l.command(w, byte(move), m, emit)
			if move == namePersist || move == nameEmpty {
				break
			}
		}
	}
}

// scripted appends the script's next command to the log.
func (l *nameLab) scripted(w *nameWorld, made int, emit emitName) {
	for i := 0; i < len(l.scope.Script); made-- {
		move, m := l.scope.Script[i], 0
		if i++; move != namePersist && move != nameEmpty {
			m = int(l.scope.Script[i] - 'A')
			i++
		}
		if made == 0 {
			l.command(w, move, m, emit)
			if l.weak == NamedLater {
				l.reportLate(w, emit)
			}
			return
		}
	}
}

// reportLate keeps, for a weakness, the disks that an owner may have named now.
func (l *nameLab) reportLate(w *nameWorld, emit emitName) {
	if disk := l.persistable(w); len(disk) > 0 && w.late == nil {
		next := w.fork()
		next.late = disk
		emit(next, "the owner asks to name %v, late", disk)
	}
}

// command applies one command, if the rules allow it.
func (l *nameLab) command(w *nameWorld, move byte, m int, emit emitName) {
	r, self := w.roster(), w.members[m].self
	p := r.Partitions[0]
	c, possible := l.change(w, move, m)
	if !possible {
		return
	}
	next, err := r.Apply(roster.Command{From: r.Version, Change: &c})
	if err != nil {
		return
	}
	forked := w.fork()
	forked.log = append(slices.Clone(w.log), l.bend(w, next, move))
	emit(forked, "version %d: %c %s of %v: %+v", next.Version, move, self[15:], p.InSync, next.Partitions[0])
}

// change returns a command, or false if no leader would propose it.
func (l *nameLab) change(w *nameWorld, move byte, m int) (c roster.Change, possible bool) {
	r, n := w.roster(), w.members[m]
	p := r.Partitions[0]
	replica := []roster.Replica{{Member: n.self}}
	_, registered := r.Member(n.self)
	switch move {
	case nameTake:
		c.Take = replica
	case nameHeir:
		c.Take, c.Remove = replica, []roster.Incarnation{p.Owner}
		c.Strike = []roster.MemberID{p.Owner.Member()}
	case nameLose, nameLoseTo:
		loss := roster.Loss{Owner: n.self}
		for _, other := range r.Members {
			if move == nameLoseTo && other.Incarnation != n.self {
				loss.With = append(loss.With, other.Incarnation)
			}
		}
		c.Lose = []roster.Loss{loss}
	case nameDrop, nameStrike:
		if c.Drop = replica; move == nameStrike {
			c.Strike = []roster.MemberID{n.id}
		}
	case nameReturn:
		if registered {
			return c, false
		}
		c.Join = []roster.Member{l.record(w, m)}
		if p.Owner.Member() == n.id {
			l.inherit(&c, p, n.self)
		}
	case nameForget:
		c.Forget = []roster.MemberID{memberID(m, 0)}
	case nameRemove:
		c.Remove = []roster.Incarnation{n.self}
		if !registered { // its disk was lost, and it has a new member ID
			before := slices.IndexFunc(r.Members, func(x roster.Member) bool { return x.Incarnation.Member() == memberID(m, 0) })
			if before < 0 {
				return c, false
			}
			c.Remove[0] = r.Members[before].Incarnation
		}
	case nameAdd:
		c.Add = replica
	case nameAdmit:
		o := w.owner()
		if o < 0 {
			return c, false
		}
		h := w.members[o].holding
		if c.Admit = []roster.Replica{h.Replica}; h.Version != r.Version || h.Member != n.self {
			return c, false
		}
	case namePersist:
		c.Persist = []roster.PartitionID{0}
		return c, len(l.persistable(w)) > 0 || len(w.late) > 0
	case nameVoters:
		c.Keepers = slices.DeleteFunc(slices.Clone(r.Keepers), func(i roster.Incarnation) bool { return i == n.self })
		if len(c.Keepers) == len(r.Keepers) {
			c.Keepers = append(c.Keepers, n.self)
			slices.Sort(c.Keepers)
		}
	case nameEmpty:
		c.Window = r.Settings.Window + 1
	}
	return c, registered || move == nameReturn || move == nameForget || move == nameRemove || move == nameEmpty
}

// inherit gives a member's partition to an in-sync replica, or loses it to its newest process (R8).
func (l *nameLab) inherit(c *roster.Change, p roster.Partition, self roster.Incarnation) {
	for _, i := range p.InSync {
		if i.Member() != self.Member() {
			c.Take = []roster.Replica{{Member: i}}
			return
		}
	}
	c.Lose = []roster.Loss{{Owner: self}}
}

// owner returns the member that acts at the newest version, -1 for none.
func (w *nameWorld) owner() int {
	return slices.IndexFunc(w.members[:], func(n *nameMember) bool {
		return n.machine.Acts() &&
			n.version == w.roster().Version
	})
}

// persistable returns the disks that the owner had named at this version (D4).
func (l *nameLab) persistable(w *nameWorld) []roster.MemberID {
	o, r := w.owner(), w.roster()
	if o < 0 || w.members[o].reported != r.Version {
		return nil
	}
	return r.Storage(0).Members()
}

// durableIn returns the members with a disk that are in sync, ascending.
func durableIn(r *roster.Roster) []roster.MemberID {
	var disks []roster.MemberID
	for _, i := range r.Partitions[0].InSync {
		if m, _ := r.Member(i); m.Durable {
			disks = append(disks, i.Member())
		}
	}
	slices.Sort(disks)
	return disks
}

// bend changes the roster according to a weakness.
func (l *nameLab) bend(w *nameWorld, next *roster.Roster, move byte) *roster.Roster {
	p := next.Partitions[0]
	switch {
	case l.weak == LossNamesDisks && p.LostTerm == roster.Term(next.Version):
		p.Disk = durableIn(next)
	case l.weak == NoDiskNamed && move == nameStrike:
		p.Disk = slices.DeleteFunc(slices.Clone(p.Disk), func(m roster.MemberID) bool {
			return !slices.ContainsFunc(p.InSync, func(i roster.Incarnation) bool { return i.Member() == m })
		})
	case l.weak == NamedLater && len(w.late) > 0 && move == namePersist:
		p.Disk = w.late
	default:
		return next
	}
	bent := *next
	bent.Partitions = []roster.Partition{p}
	return &bent
}
