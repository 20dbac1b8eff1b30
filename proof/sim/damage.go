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

// Failing disks, and data directories that are copied or restored from an older copy.

// failDisk lets a member's disk fail. From then on the member acknowledges no writes, does not take
// part in agreement, grants nothing, and requests its removal until it is removed. Then it
// restarts.
func (nm *nemesis) failDisk(m *member) bool {
	if !m.seat.durable || m.broken || m.leaving || len(nm.g.running()) == 1 || !nm.g.agreed.expendable(m.seat) {
		return false
	}
	m.seat.abandon(nm.g.w)
	m.resign()
	m.broken, m.leaving, m.ended = true, true, true
	m.after(0, m.departBroken)
	return true
}

// departBroken requests the member's removal from the leader, and ends the member when it is
// removed.
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

// copied is an earlier state of a data directory.
type copied struct {
	index int
	disk  map[roster.PartitionID]definitions
	at    map[roster.PartitionID]backup.Position
}

// copyOf copies a seat's data directory.
func (s *seat) copyOf() *copied {
	c := &copied{index: s.index, disk: map[roster.PartitionID]definitions{}, at: maps.Clone(s.at)}
	for id, d := range s.disk {
		c.disk[id] = maps.Clone(d)
	}
	return c
}

// copySteps separates the incarnations of copies.
const copySteps = 1 << 20

// copyDisk starts a second process from a current or older copy of a member's data directory. While
// the original responds, the copy is refused and ends.
func (nm *nemesis) copyDisk(m *member) bool {
	s := m.seat
	if !s.durable || s.index < 0 || m.broken || nm.g.current[s.id] != nil || len(nm.g.running()) >= memberLimit {
		return false
	}
	from := s.copyOf()
	if s.older != nil && nm.g.w.chance(0.5) {
		from = s.older
	}
	twin := nm.g.addSeat(true)
	twin.id, twin.zone, twin.old, twin.index, twin.disk, twin.at = s.id, s.zone, false, from.index, from.disk, from.at
	twin.starts = s.starts + copySteps
	nm.g.current[s.id] = s
	nm.g.start(twin)
	if nm.g.w.chance(0.3) { // the original ends or is unreachable while the copy tries to join
		if nm.g.w.chance(0.5) && nm.crashOne(m) {
			return true
		}
		nm.cutAll(m)
	}
	return true
}

// refusedCopy ends a process that was refused because another process has its identity.
func (m *member) refusedCopy(err error) {
	if !errors.Is(err, leader.ErrIdentityInUse) || m.g.current[m.seat.id] == nil || m.g.current[m.seat.id] == m.seat {
		return
	}
	m.endCopy()
}

// endCopy ends a process with another one's identity.
func (m *member) endCopy() {
	m.g.counts.Copies++
	m.g.w.note(copyEnded, m.name, int64(m.place), int64(m.roster.Version))
	m.seat.wipe()
	m.g.crash(m)
}

// sawCopies handles admitted members that run from a copied directory. The copy takes over the
// vote, and promises about definitions that it may lack are void.
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
		for _, id := range g.voidDisk(next, m.seat.id) {
			g.promises.copied[id] = next.Version
		}
	}
}

// checkCopy requires that no copy is admitted while the original answers the leader's probes.
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

// voidDisk drops the promises that depend on a disk, and returns the partitions.
func (g *grid) voidDisk(r *roster.Roster, id roster.MemberID) (of []roster.PartitionID) {
	for at, p := range r.Partitions {
		if slices.Contains(p.Disk, id) {
			g.promises.void(roster.PartitionID(at))
			of = append(of, roster.PartitionID(at))
		}
	}
	return of
}

// stale reports whether another seat has taken over this seat's identity.
func (g *grid) stale(s *seat) bool { return g.current[s.id] != nil && g.current[s.id] != s }

// rollBack ends a member without a vote, and restarts it from an older copy of its directory. A
// voter is not rolled back: nothing is promised for it while the other voters run.
func (nm *nemesis) rollBack(m *member) bool {
	s := m.seat
	if !s.durable || s.older == nil || nm.g.agreed.votes(s) || nm.g.current[s.id] != nil {
		return false
	}
	nm.g.crash(m)
	s.index, s.disk, s.at = s.older.index, s.older.disk, s.older.at
	s.older, s.rolled = nil, m.inc
	nm.g.voidDisk(nm.g.agreed.newest(), s.id)
	nm.g.restart(s)
	return true
}

// rolledBack reports whether a member's in-sync process ended before its disk became an older copy.
func (g *grid) rolledBack(id roster.MemberID, inSync []roster.Incarnation) bool {
	return slices.ContainsFunc(g.seats, func(s *seat) bool {
		return s.id == id && s.rolled != "" && slices.Contains(inSync, s.rolled)
	})
}

// forgetSome gives up a disk during faults, as an operator would, even if its member can return.
func (nm *nemesis) forgetSome() bool {
	m := nm.g.agreed.leader
	if m == nil || m.lead == nil {
		return false
	}
	l, in := m.lead, leader.ForgetRequest{Disk: pick(nm.g.w, nm.g.seats).id, LoseDefinitions: nm.g.w.chance(0.3)}
	m.do(func() {
		l.do(func(machine *leader.Leader, v leader.View) {
			machine.ForgetDisk(v, in, func(_ leader.Forgotten, err error) {
				if err == nil {
					nm.g.counts.Forgotten++
				}
			})
		})
	})
	return true
}
