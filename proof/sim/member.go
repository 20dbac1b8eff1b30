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

// member is a member's process: the state of a process in package grid.
type member struct {
	process
	g      *grid
	seat   *seat
	inc    roster.Incarnation
	index  int // last log index applied
	roster *roster.Roster
	raised raised
	actors map[roster.PartitionID]*actor

	streams map[attachment.HolderID]*session.Stream // event streams

	reach    *leader.Reach // probes to members that do not acknowledge updates
	reported time.Duration // when the leader last received a report about unreachable members

	lead    *lead
	leader  *member       // the leader, according to its last message
	term    int           // that leader's term
	heard   time.Duration // when that message arrived
	deaf    time.Duration // it receives no log entries until then
	leaving bool
	letGo   bool          // the leader has confirmed that it may end
	unseen  time.Duration // when gossip detects its end
	ended   bool          // it is shutting down and grants nothing
	old     bool          // it runs the previous release, which only reads protocol 1

	looks *leaderMonitor
	left  recovery.Left // the grid that it left for another one
	next  roster.GridID // the ID of that other grid

	lateLooks time.Duration // it replies late to probes until then
	broken    bool          // its disk has failed
}

// raised is the last applied raise, and its time.
type raised struct {
	time clustertime.Tick
	at   time.Duration
}

// start starts a member on a seat, from the seat's disk.
func (g *grid) start(s *seat) *member {
	s.starts++
	return g.startAs(s, roster.Incarnation(fmt.Sprintf("%s-%016x", s.id, s.starts)))
}

// startAs starts a member with a given incarnation.
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

// record returns the member's record for the roster.
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
	first := max(m.index+1, m.g.agreed.first) // skips an earlier grid's raises
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

// attend passes the newest roster to the actors that it concerns.
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

// tick runs the machines of all actors.
func (m *member) tick() {
	for id := range m.roster.Partitions {
		if o := m.actors[roster.PartitionID(id)]; o != nil {
			o.tick()
		}
	}
}

// join requests admission from the leader. If the leader is unknown or silent, the request
// goes to another member, which forwards it.
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

// depart repeats the request to leave until the leader confirms it, and then ends the member. A
// leader first passes on its lead, which its machine does. The server of a copy that was never admitted is the
// original's and stays, so the copy ends alone.
func (m *member) depart() {
	if s := m.g.current[m.seat.id]; s != nil && s != m.seat {
		m.endCopy()
		return
	}
	m.atLeader(m.w.now-m.heard > 2*joinEvery, func(l *lead) {
		l.machine.Leave(l.view(), m.inc, false, func(err error) {
			departed := err == nil && l.machine.Departed(l.view(), m.inc, leader.ServerOf(m.inc, m.seat.durable))
			if departed && m.g.agreed.confirms(l.m) {
				m.letGo = true
				comesBack := m.g.agreed.unaware(m.seat) // an operator restarts it: its vote is needed
				m.w.net.send(&l.m.process, &m.process, func() {
					m.seat.durable = m.seat.durable && comesBack
					m.g.crash(m)
				})
			}
		})
	})
	m.after(joinEvery, m.depart)
}

// atLeader calls a function with the leader's lead, through this member's leader or another
// member's.
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

// heardLeader handles a leader's message with its term and log index.
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

// rebuff sometimes informs an old leader that it has been replaced.
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

// crash ends a member without notice.
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
