package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Disks that fail, and data directories that are copied or come back older.

// failDisk has a member's disk take no more writes. The member answers no write from then on, takes
// no part in the agreement, grants nothing more, and asks until it is removed. It comes back by a
// restart.
func (g *grid) failDisk(m *member) bool {
	if !m.seat.durable || m.broken || m.leaving || len(g.running()) == 1 || !g.agreed.expendable(m.seat) {
		return false
	}
	m.seat.abandon(g.w)
	m.resign()
	m.broken, m.leaving, m.ended = true, true, true
	m.after(0, m.departBroken)
	return true
}

// departBroken asks the leader to count the member as gone, and ends it once it is removed.
func (m *member) departBroken() {
	m.atLeader(m.w.now-m.heard > 2*joinEvery, func(l *lead) {
		l.machine.Leave(l.view(), m.inc, true, func(err error) {
			if _, in := l.m.roster.Member(m.inc); err == nil && !in && m.g.agreed.confirms(l.m) {
				m.w.net.send(&l.m.process, &m.process, func() {
					m.g.crash(m)
					m.g.restart(m.seat)
				})
			}
		})
	})
	m.after(joinEvery, m.departBroken)
}

// copied is a data directory as it was at a time.
type copied struct {
	index int
	disk  map[roster.PartitionID]definitions
	at    map[roster.PartitionID]backup.Position
}

// copyOf copies the data directory of a seat.
func (s *seat) copyOf() *copied {
	c := &copied{index: s.index, disk: map[roster.PartitionID]definitions{}, at: maps.Clone(s.at)}
	for id, d := range s.disk {
		c.disk[id] = maps.Clone(d)
	}
	return c
}

// copySteps keeps the incarnations of copies apart from each other.
const copySteps = 1 << 20

// copyDisk starts a second process from a copy of a member's data directory, a present or an older
// one. While the original answers it is refused, and ends.
func (g *grid) copyDisk(m *member) bool {
	s := m.seat
	if !s.durable || s.index < 0 || m.broken || g.current[s.id] != nil || len(g.running()) >= memberLimit {
		return false
	}
	from := s.copyOf()
	if s.older != nil && g.w.chance(0.5) {
		from = s.older
	}
	twin := g.addSeat(true)
	twin.id, twin.zone, twin.old, twin.index, twin.disk, twin.at = s.id, s.zone, false, from.index, from.disk, from.at
	twin.starts = s.starts + copySteps
	g.current[s.id] = s
	g.start(twin)
	if g.w.chance(0.3) { // the original ends, or nobody reaches it, while the copy asks
		if g.w.chance(0.5) && g.crashOne(m) {
			return true
		}
		g.cutAll(m)
	}
	return true
}

// refusedCopy ends a process whose identity another one has.
func (m *member) refusedCopy(err error) {
	if !errors.Is(err, leader.ErrIdentityInUse) || m.g.current[m.seat.id] == nil || m.g.current[m.seat.id] == m.seat {
		return
	}
	m.g.counts.Copies++
	m.g.w.note(copyEnded, m.name, int64(m.place), int64(m.roster.Version))
	m.seat.wipe()
	m.g.crash(m)
}

// sawCopies follows members of a copied directory that are let in: the copy has the vote from then
// on, and what it lacks of the definitions is not promised.
func (g *grid) sawCopies(before, next *roster.Roster, by *member) {
	for _, in := range next.Members {
		if _, known := before.Member(in.Incarnation); known {
			continue
		}
		m := g.members[in.Incarnation]
		was := g.current[m.seat.id]
		if was == nil || was == m.seat {
			continue
		}
		if r := was.running; r != nil {
			if _, registered := before.Member(r.inc); registered {
				g.check(by.lead.checkCopy(was, m))
			}
		}
		g.current[m.seat.id] = m.seat
		for i := range g.agreed.servers {
			if s := &g.agreed.servers[i]; s.seat == was && s.ID == serverOf(m, false).ID {
				s.seat = m.seat
			}
		}
		g.voidDisk(next, m.seat.id)
	}
}

// checkCopy wants no copy to be let in while the original answers the leader.
func (l *lead) checkCopy(was *seat, in *member) error {
	m := was.running
	if l == nil || m == nil || !l.awake() {
		return nil
	}
	answered, known := l.views.reached[was]
	failed, ever := l.views.failed[m]
	if known && l.m.w.now-answered < doubtTime && (!ever || answered-failed > 8*time.Second) {
		return fmt.Errorf("R8: leader %s lets copy %s in, and original %s has answered every probe", l.m.name,
			in.name, m.name)
	}
	return nil
}

// voidDisk forgets the promises that rest on a disk.
func (g *grid) voidDisk(r *roster.Roster, id roster.MemberID) {
	for at, p := range r.Partitions {
		if slices.Contains(p.Disk, id) {
			g.void(roster.PartitionID(at))
		}
	}
}

// stale reports whether a seat is not the one that has its identity.
func (g *grid) stale(s *seat) bool { return g.current[s.id] != nil && g.current[s.id] != s }

// rollBack ends a member without a vote, and starts it again from an older copy of its directory. Of
// a voter's nothing is promised while the others run.
func (g *grid) rollBack(m *member) bool {
	s := m.seat
	if !s.durable || s.older == nil || g.agreed.votes(s) || g.current[s.id] != nil {
		return false
	}
	g.crash(m)
	s.index, s.disk, s.at = s.older.index, s.older.disk, s.older.at
	s.older = nil
	g.voidDisk(g.agreed.newest(), s.id)
	g.restart(s)
	return true
}

// forgetSome has an operator give up a disk in the middle of faults, whether or not its member can come back.
func (g *grid) forgetSome() bool {
	m := g.agreed.leader
	if m == nil || m.lead == nil {
		return false
	}
	l, in := m.lead, leader.ForgetRequest{Disk: pick(g.w, g.seats).id, LoseDefinitions: g.w.chance(0.3)}
	m.do(func() {
		l.do(func(machine *leader.Leader, v leader.View) {
			machine.ForgetDisk(v, in, func(_ leader.Forgotten, err error) {
				if err == nil {
					g.counts.Forgotten++
				}
			})
		})
	})
	return true
}
