package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/recovery"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/partition"
)

// member is one start of a member: the state of a process of package grid.
type member struct {
	process
	g      *grid
	seat   *seat
	inc    roster.Incarnation
	index  int // of the log applied
	roster *roster.Roster
	raised raised
	actors map[roster.PartitionID]*actor

	streams map[attachment.HolderID]*session.Stream // of events

	reach    *leader.Reach // of members that do not acknowledge updates
	reported time.Duration // when the leader was told of those that are apart

	lead    *lead
	leader  *member       // who was heard leading
	term    int           // of that leader
	heard   time.Duration // when
	deaf    time.Duration // it hears nothing of the log until then
	leaving bool
	letGo   bool          // the leader has answered that it may end
	unseen  time.Duration // when gossip sees it no longer, after its end
	ended   bool          // it stops in order and grants nothing more
	old     bool          // it is of the release before, and reads protocol 1 alone

	looks *leaderMonitor
	left  recovery.Left // the grid that it has left for another one
	next  roster.GridID // that one

	lateLooks time.Duration // it answers looks late until then
	broken    bool          // its disk has failed
}

// raised is the last raise applied, and when.
type raised struct {
	time clustertime.Tick
	at   time.Duration
}

// start starts a member on a seat, with the content of the seat's disk.
func (g *grid) start(s *seat) *member {
	s.starts++
	return g.startAs(s, roster.Incarnation(fmt.Sprintf("%s-%016x", s.id, s.starts)))
}

// startAs starts a member with an incarnation.
func (g *grid) startAs(s *seat, inc roster.Incarnation) *member {
	m := &member{
		process: g.w.process(fmt.Sprintf("m%d.%d", s.place, s.starts), s.place),
		g:       g, seat: s, inc: inc, roster: &roster.Roster{}, actors: map[roster.PartitionID]*actor{},
		streams: map[attachment.HolderID]*session.Stream{}, old: g.startsOld(s), reach: leader.NewReach(),
	}
	m.wall = g.wallAt(s.place)
	if s.durable && s.index >= 0 {
		m.index, m.roster = s.index, g.agreed.log[s.index].roster
	} else {
		m.index = -1
	}
	s.running = m
	g.members[inc] = m
	durable := int64(0)
	if s.durable {
		durable = 1
	}
	g.w.note(joined, m.name, int64(s.place), durable)
	m.looks = newLeaderMonitor(m)
	if s.durable && g.w.chance(0.3) {
		s.older = s.copyOf()
	}
	m.after(0, m.attend)
	m.every(partition.TickEvery, m.tick)
	m.every(joinEvery, m.join)
	return m
}

const joinEvery = 700 * time.Millisecond

// record returns the record of the member in the roster.
func (m *member) record() roster.Member {
	r := roster.Member{Incarnation: m.inc, Durable: m.seat.durable}
	if !m.old {
		r.Zone = m.seat.zone
	}
	return r
}

// learn applies the log up to an index.
func (m *member) learn(index int) {
	if m.broken {
		return
	}
	if index <= m.index {
		return
	}
	m.stopUnreadable(m.g.agreed.log[index].roster)
	first := max(m.index+1, m.g.agreed.first) // raises of an earlier grid are none of this one
	m.index, m.roster = index, m.g.agreed.log[index].roster
	if m.seat.durable && m.g.agreed.keepsLog(m.seat) {
		m.seat.index = index
	}
	for i := first; i <= index; i++ {
		if e := m.g.agreed.log[i]; e.raise {
			m.tookRaise(e.roster.Time)
		}
	}
	m.attend()
}

func (m *member) tookRaise(t clustertime.Tick) {
	m.Sample(t)
	m.raised = raised{time: t, at: m.Mono()}
}

// attend shows the newest roster to the actors it concerns.
func (m *member) attend() {
	for id, p := range m.roster.Partitions {
		o := m.actors[roster.PartitionID(id)]
		if o == nil && p.Owner == m.inc {
			o = m.actorOf(roster.PartitionID(id))
		}
		if o != nil {
			o.machine.Observe(m.view())
		}
	}
}

func (m *member) actorOf(id roster.PartitionID) *actor {
	o := m.actors[id]
	if o == nil {
		o = newActor(m, id)
		m.actors[id] = o
	}
	return o
}

// tick lets owners look at their sessions.
func (m *member) tick() {
	for id := range m.roster.Partitions {
		if o := m.actors[roster.PartitionID(id)]; o != nil {
			o.tick()
		}
	}
}

// join asks the leader to be let in. One that has not heard of it asks another member,
// which passes the question on.
func (m *member) join() {
	_, in := m.roster.Member(m.inc)
	silent := m.w.now-m.heard > 2*joinEvery
	if in && !silent || m.leaving || m.of() != m.g.id() {
		return
	}
	m.atLeader(silent, func(l *lead) {
		l.machine.Join(l.view(), m.record(), func(err error) {
			if err != nil {
				m.w.net.send(&l.m.process, &m.process, func() { m.refusedCopy(err) })
			}
		})
	})
}

// depart asks the leader to be let go, again and again, and ends the member then. One
// that leads passes its lead on first, which is the machine's work.
func (m *member) depart() {
	m.atLeader(m.w.now-m.heard > 2*joinEvery, func(l *lead) {
		l.machine.Leave(l.view(), m.inc, false, func(err error) {
			departed := err == nil && l.machine.Departed(l.view(), m.inc, leader.ServerOf(m.inc, m.seat.durable))
			if departed && m.g.agreed.confirms(l.m) {
				m.letGo = true
				comesBack := m.g.agreed.unaware(m.seat) // an operator starts it again: its vote is needed
				m.w.net.send(&l.m.process, &m.process, func() {
					m.seat.durable = m.seat.durable && comesBack
					m.g.crash(m)
				})
			}
		})
	})
	m.after(joinEvery, m.depart)
}

// atLeader has the machine of the leader do something, as this member or another knows
// the leader.
func (m *member) atLeader(silent bool, do func(l *lead)) {
	to := m.leader
	if to == nil || silent {
		to = m.g.someMember()
	}
	if to == nil || to == m || to.of() != m.of() {
		return
	}
	m.w.net.send(&m.process, &to.process, func() {
		switch next := to.leader; {
		case to.lead != nil:
			do(to.lead)
		case next != nil && next != m:
			m.w.net.send(&m.process, &next.process, func() {
				if next.lead != nil {
					do(next.lead)
				}
			})
		}
	})
}

// heardLeader notes that a leader of a term knows the log up to an index.
func (m *member) heardLeader(from *member, term, index int) {
	if m.deaf > m.w.now || m.of() != from.of() {
		return
	}
	if term < m.term {
		m.rebuff(from)
		return
	}
	if m.lead != nil && m.lead.term < term {
		m.resign()
	}
	m.leader, m.term, m.heard = from, term, m.w.now
	m.looks.heard, m.looks.byLog = m.Mono(), m.Mono()
	m.learn(index)
}

// rebuff lets an old leader know, sometimes, that it leads no more.
func (m *member) rebuff(old *member) {
	newer := m.term
	if !m.w.chance(0.2) {
		return
	}
	m.w.net.send(&m.process, &old.process, func() {
		if old.lead != nil && old.lead.term < newer {
			old.resign()
		}
	})
}

// crash ends a member without a word.
func (g *grid) crash(m *member) {
	m.alive = false
	m.seat.ended = g.w.now
	m.resign()
	m.unseen = g.w.now + g.w.between(0, gossipTime)
	g.lingering = append(g.lingering, m)
	m.seat.running = nil
	g.brokenStreams(m)
	m.seat.abandon(g.w)
	for _, h := range slices.Clone(g.holders) {
		if h.within == m {
			g.endHolder(h)
		}
	}
	how := int64(0)
	if m.leaving {
		how = 1
	}
	g.w.note(left, m.name, int64(m.seat.place), how)
}
