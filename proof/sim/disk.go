package sim

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/partition"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Members with a disk store their partitions' definitions there. Writes take time, and the network
// carries their acknowledgements. When a process ends, a write without an acknowledgement may be on
// disk or not. Writes are atomic and ordered.

var errDisk = errors.New("sim: the disk failed")

// definitions are one partition's records on a disk.
type definitions map[string]partition.DefinitionRecord

// write is a write in progress.
type write struct {
	id roster.PartitionID
	partition.Write
	done bool // it is on the disk
}

// land applies a write to the disk.
func (s *seat) land(w *write) {
	if w.done {
		return
	}
	w.done = true
	s.at[w.id] = w.Position
	has := s.disk[w.id]
	if has == nil || w.Whole != nil {
		has = definitions{}
		s.disk[w.id] = has
	}
	records := w.Changed
	if w.Whole != nil {
		records = w.Whole.Records
	}
	for _, r := range records {
		has[r.Ref.Definition.Name()] = r
	}
	for _, name := range w.Removed {
		delete(has, name)
	}
}

// abandon decides which pending writes reach the disk after their process has ended.
func (s *seat) abandon(w *world) {
	for _, pending := range s.writes {
		if !w.chance(0.5) {
			break
		}
		s.land(pending)
	}
	s.writes = nil
}

// read returns a partition's definitions on the disk.
func (s *seat) read(id roster.PartitionID) partition.Definitions {
	var d partition.Definitions
	for _, name := range slices.Sorted(maps.Keys(s.disk[id])) {
		d.Records = append(d.Records, s.disk[id][name])
	}
	return d
}

// Store implements partition.Member.
func (o *actor) Store(w partition.Write) {
	m, s := o.m, o.m.seat
	if m.broken {
		return // a disk that has failed acknowledges nothing
	}
	pending := &write{id: o.id, Write: w}
	s.writes = append(s.writes, pending)
	delay := m.w.between(time.Millisecond, 15*time.Millisecond)
	if m.w.chance(0.05) {
		delay = m.w.between(0, 3*time.Second)
	}
	fails, lands := m.w.chance(0.002), m.w.chance(0.5)
	m.w.after(delay, func() {
		at := slices.Index(s.writes, pending)
		if at < 0 {
			return // the process has ended
		}
		s.writes = slices.Delete(s.writes, at, at+1)
		var err error
		if fails {
			err = errDisk
		}
		if !fails || lands {
			s.land(pending)
		}
		m.g.counts.Writes++
		m.do(func() { o.machine.Stored(m.view(), w.Position, err) })
	})
}

// ReportStored implements partition.Member.
func (o *actor) ReportStored(to roster.Incarnation, p backup.Position) {
	from, peer, id := o.m.inc, o.m.g.members[to], o.id
	sendPeer(o.m, peer, func() {
		if int(id) < len(peer.roster.Partitions) {
			peer.actorOf(id).machine.StoredBy(peer.view(), from, p)
		}
	})
}

// Collect implements partition.Member. The disk is read some time after the machine has accepted
// the request.
func (o *actor) Collect(c partition.Collection) {
	m := o.m
	for _, s := range m.g.seats {
		peer := s.running
		if s.id != c.From || peer == nil || m.g.stale(s) {
			continue
		}
		type answer struct {
			definitions partition.Definitions
			err         error
		}
		callPeer(m, peer, time.Second,
			func(reply func(answer)) {
				if int(o.id) >= len(peer.roster.Partitions) {
					return
				}
				if err := peer.actorOf(o.id).machine.ShowDisk(peer.view(), c); err != nil {
					reply(answer{err: err})
					return
				}
				if !s.durable {
					d, at := peer.actorOf(o.id).machine.Kept()
					if at.Term == 0 {
						reply(answer{err: errDisk})
					} else {
						reply(answer{definitions: d})
					}
					return
				}
				peer.after(m.w.between(0, 50*time.Millisecond), func() { reply(answer{definitions: s.read(o.id)}) })
			},
			func(a answer, err error) {
				if err == nil {
					err = a.err
				}
				o.machine.Collected(m.view(), c, a.definitions, err)
			})
		return
	}
	m.after(time.Second, func() { o.machine.Collected(m.view(), c, partition.Definitions{}, errRefused) })
}

// ReportPersisted implements partition.Member. It repeats the report to the leader until the roster
// has a later version.
func (o *actor) ReportPersisted(p roster.Persisted) {
	m := o.m
	if p.Version < m.roster.Version {
		return
	}
	if m.leader != nil {
		m.report(m.leader, leader.Report{Owner: m.inc, Persisted: []roster.Persisted{p}})
	}
	m.after(time.Second, func() { o.ReportPersisted(p) })
}

// DefinitionsCollected implements partition.Member.
func (o *actor) DefinitionsCollected(id roster.PartitionID, _ roster.MemberID, names int) {
	o.m.g.counts.Collected++
	o.m.w.note(collected, o.m.name, int64(id), int64(names))
}

// loseDisk ends a member and destroys its directory. The machine returns as a new member, and an
// operator gives up the disk, immediately or at the end of the faults.
func (nm *nemesis) loseDisk(m *member) bool {
	if !m.seat.durable || !nm.g.agreed.expendable(m.seat) || len(nm.g.running()) == 1 {
		return false
	}
	nm.g.crash(m)
	m.seat.wipe()
	nm.g.w.after(nm.span(), func() { nm.g.start(nm.g.addSeat(true)) })
	if nm.g.w.chance(0.5) {
		nm.g.w.after(nm.span(), func() { nm.g.giveUp(m.seat.id) })
	}
	return true
}

// giveUp requests the leader to forget a disk.
func (g *grid) giveUp(id roster.MemberID) {
	m := g.agreed.leader
	if named, _ := g.agreed.newest().Awaits(id); named == 0 || m == nil || m.lead == nil {
		return
	}
	l := m.lead
	m.do(func() {
		l.do(func(machine *leader.Leader, v leader.View) {
			machine.ForgetDisk(v, leader.ForgetRequest{Disk: id, LoseDefinitions: true}, func(leader.Forgotten, error) {})
		})
	})
}

// giveUpAll periodically gives up the disks of members that will not return.
func (g *grid) giveUpAll() {
	for _, s := range g.seats {
		if s.running == nil && !s.durable {
			g.giveUp(s.id)
		}
	}
	g.w.after(time.Second, g.giveUpAll)
}
