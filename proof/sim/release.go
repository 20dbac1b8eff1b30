package sim

import (
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Members on the previous release only read protocol 1, which is the only protocol without the
// build tag nextrelease. A member that starts sometimes switches to the other release, in either
// direction. Requests sometimes need the newer protocol: the roster's protocol rises, and falls
// again when its features are not in use.

// needEvery is the mean interval between requests that need the newer protocol.
const needEvery = 40 * time.Second

// startsOld reports whether a member starting on a seat runs the previous release, and draws the
// release for the next start. The previous release does not start on a log that it cannot read.
func (g *grid) startsOld(s *seat) bool {
	old := s.old
	if old && s.durable && s.index >= 0 {
		old = g.agreed.log[s.index].roster.InUse() == roster.Protocol1
	}
	s.old = g.cfg.Old && !g.calm && (old && g.w.chance(0.5) || !old && g.w.chance(0.15))
	return old
}

// nextNeed schedules a request that needs the newest protocol.
func (g *grid) nextNeed() {
	g.w.after(g.w.between(0, 2*needEvery), func() {
		if m := g.agreed.leader; m != nil && m.lead != nil && !g.calm {
			m.lead.do(func(machine *leader.Leader, v leader.View) {
				machine.Need(v, roster.CurrentProtocol, "a number", func(error) {})
			})
		}
		g.nextNeed()
	})
}

// release returns the protocol range that the member announces.
func (m *member) release() roster.Release {
	if m.old {
		return roster.Release{Min: roster.Protocol1, Max: roster.Protocol1}
	}
	return roster.Release{Min: roster.OldestProtocol, Max: roster.CurrentProtocol}
}

// checkReadable requires that every member in the roster can read a command.
func (g *grid) checkReadable(next *roster.Roster, c roster.Command) error {
	needed, part := c.Needs()
	if c.Change != nil && c.Change.Protocol != 0 {
		g.counts.Protocols++
	}
	if next.InUse() > needed {
		needed, part = next.InUse(), "the roster"
	}
	for _, i := range next.Members {
		if m := g.members[i.Incarnation]; m.alive && !m.release().Reads(needed) {
			return fmt.Errorf("upgrade: member %s cannot read %s, which needs protocol %d", m.name, part, needed)
		}
	}
	return nil
}

// stopUnreadable ends a member that receives a roster which its release cannot read: it was
// unreachable during the upgrade. It restarts with the newer release.
func (m *member) stopUnreadable(r *roster.Roster) {
	if m.release().Reads(r.InUse()) {
		return
	}
	m.seat.old = false
	m.after(0, func() {
		m.g.crash(m)
		m.g.restart(m.seat)
	})
}

// upgradeAll restarts members that the grid does not admit because they run the previous release.
func (g *grid) upgradeAll() {
	for _, s := range g.seats {
		s.old = false
		if m := s.running; m != nil && m.old && !m.leaving {
			if _, in := g.agreed.newest().Member(m.inc); !in {
				g.crash(m)
				if s.durable {
					g.start(s)
				} else {
					g.start(g.addSeat(false))
				}
			}
		}
	}
}

// remove removes a seat's member from the grid, running or not, as an operator would. The leader
// refuses if this would cost the majority.
func (nm *nemesis) remove(s *seat) bool {
	m := nm.g.agreed.leader
	if m == nil || m.lead == nil {
		return false
	}
	l := m.lead
	m.do(func() {
		l.do(func(machine *leader.Leader, v leader.View) {
			machine.RemoveMember(v, s.id, "", func(leader.Removed, error) {})
		})
	})
	return true
}

// crashSeveral crashes some members, or all in a zone, at the same moment, if the rest can continue
// without them.
func (nm *nemesis) crashSeveral(m *member) bool {
	zone, most := nm.g.w.chance(0.5), 2+nm.g.w.rng.IntN(2)
	var gone []*seat
	for _, other := range nm.g.running() {
		if zone && other.seat.zone == m.seat.zone || !zone && len(gone) < most && nm.g.w.chance(0.5) {
			gone = append(gone, other.seat)
		}
	}
	if len(gone) < 2 || len(gone) == len(nm.g.running()) || !nm.g.agreed.expendable(gone...) {
		return false
	}
	for _, s := range gone {
		nm.g.crash(s.running)
		nm.g.restart(s)
	}
	return true
}
