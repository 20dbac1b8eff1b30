package sim

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Starts and ends of members.

// restart starts a member after a while: the same member if the seat has a disk, otherwise a new
// member on a new seat.
func (g *grid) restart(s *seat) {
	g.w.after(g.nemesis.span(), func() {
		switch {
		case s.durable && s.running == nil:
			g.start(s)
		case !s.durable && len(g.running()) < memberLimit:
			g.start(g.addSeat(false))
		}
	})
}

func (nm *nemesis) crashOne(m *member) bool {
	if !nm.g.agreed.expendable(m.seat) && !m.seat.durable {
		return false
	}
	if len(nm.g.running()) == 1 && !m.seat.durable {
		return false
	}
	nm.g.crash(m)
	nm.g.restart(m.seat)
	return true
}

// crashEverybody crashes all members together, if the voters with disks are a majority.
func (nm *nemesis) crashEverybody() bool {
	n, of := 0, 0
	for _, s := range nm.g.agreed.servers {
		if s.Voter {
			of++
			if s.seat.durable {
				n++
			}
		}
	}
	if 2*n <= of {
		return false
	}
	for _, m := range nm.g.running() {
		nm.g.crash(m)
		nm.g.restart(m.seat)
	}
	return true
}

func (nm *nemesis) joinNew() (int, bool) {
	if len(nm.g.running()) >= memberLimit {
		return 0, false
	}
	durable := nm.g.cfg.Durable > 0 && nm.g.w.chance(0.5)
	return nm.g.start(nm.g.addSeat(durable)).place, true
}

// leave starts a member's departure; the member ends when the roster no longer contains it.
func (nm *nemesis) leave(m *member) bool {
	stay := 0
	for _, other := range nm.g.running() {
		if other != m && !other.leaving {
			stay++
		}
	}
	if stay == 0 || m.leaving || nm.g.operator.recovering {
		return false
	}
	m.leaving = true
	m.after(time.Second, m.depart)
	return true
}

// alarm makes a member appear silent or absent to every leader for a while, or invisible to gossip.
func (nm *nemesis) alarm(m *member) {
	kind := pick(nm.g.w, []alarm{alarmSilent, alarmSilent, alarmGone, alarmGone, alarmUnseen})
	nm.g.alarms[m.inc] = kind
	nm.g.w.after(nm.g.w.between(100*time.Millisecond, 5*time.Second), func() { delete(nm.g.alarms, m.inc) })
}

// stop shuts down the last member of a durable grid in order: its holders return their attachments,
// it records the end of all grants, and restarts later (S1).
func (nm *nemesis) stop(m *member) bool {
	r := m.roster
	if nm.g.stopping || m.lead == nil || !m.seat.durable || len(r.Members) != 1 || !r.Assigned() {
		return false
	}
	nm.g.stopping = true
	for _, h := range nm.g.holders {
		for _, e := range h.entries {
			if e.handle != nil {
				_ = e.handle.DetachLogicalNode(ended)
			}
			e.idle = nm.g.w.now + 5*time.Second
		}
	}
	m.after(time.Second, func() {
		m.ended = true
		high, free := m.high()
		end := func() {
			nm.g.crash(m)
			nm.g.restart(m.seat)
		}
		if !free {
			end()
			return
		}
		nm.g.w.note(stopped, m.name, int64(high), int64(m.roster.Version))
		nm.g.agreed.propose(m, roster.Command{From: r.Version, Claim: r.Claim, Change: &roster.Change{Stop: max(1, high)}},
			func(error) { end() })
	})
	nm.g.w.after(10*time.Second, func() { nm.g.stopping = false })
	return true
}

// high returns the first tick that was not granted in any partition, and whether no grant remains
// usable.
func (m *member) high() (high clustertime.Tick, free bool) {
	for id := range m.roster.Partitions {
		h, err := m.actorOf(roster.PartitionID(id)).machine.High(m.view())
		if high = max(high, h); err != nil {
			return 0, false
		}
	}
	return high, true
}
