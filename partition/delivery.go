package partition

import (
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// An owner sends each other replica the changes that it lacks, one delivery at a time. Later
// changes go with the next delivery; without changes there is none.

// Update is a message from an owner to another replica.
type Update = backup.Update[TableState, TableChange]

// Delivery is an update on its way to a replica.
type Delivery struct {
	To     roster.Incarnation
	Update Update
	// Pause is the wait after a failure before it is reported.
	Pause    time.Duration
	Question uint64 // to which the answer belongs
}

// Holds is a replica's report about its table.
type Holds struct {
	Held   backup.Position
	Stored backup.Position // on its disk, as far as the owner may learn it (D1)
	Newest roster.Term     // newest term that it has seen
	Gap    bool            // the changes did not follow its state
	NotYet bool            // its roster does not have the term yet
}

// sender is the delivery state for one replica.
type sender struct {
	busy     bool          // one is in progress, or waits after its failure
	pause    time.Duration // after the next failure
	answered uint64        // the last question that it has answered
}

// deliveries sends updates and read barriers to the other replicas, and to the keepers.
type deliveries struct {
	member    Member
	replica   *tableReplica
	senders   map[roster.Incarnation]*sender
	questions uint64 // questions to the other replicas
	// keepersAsked is the last question to the keepers.
	keepersAsked uint64
}

const (
	firstPause = 20 * time.Millisecond
	lastPause  = 400 * time.Millisecond
)

// to returns the delivery state for a replica.
func (d *deliveries) to(replica roster.Incarnation) *sender {
	s := d.senders[replica]
	if s == nil {
		s = &sender{pause: firstPause}
		d.senders[replica] = s
	}
	return s
}

// question begins a read barrier: all replicas, and with keepers set all keepers, confirm that
// they have not seen a later owner. A reply without a change depends on that
// alone: a paused owner that was replaced would otherwise return an old state.
func (d *deliveries) question(keepers bool) uint64 {
	d.questions++
	if keepers {
		d.keepersAsked = d.questions
	}
	return d.questions
}

// answered returns the last read barrier that some members have all answered.
func (d *deliveries) answered(by []roster.Incarnation) uint64 {
	least := d.questions
	for _, i := range by {
		s := d.senders[i]
		if s == nil {
			return 0
		}
		least = min(least, s.answered)
	}
	return least
}

// replicate sends every needed replica the changes that it lacks.
func (d *deliveries) replicate() {
	for _, to := range d.replica.Needed() {
		s := d.to(to)
		if s.busy {
			continue
		}
		if u, due := d.replica.Update(to); due || s.answered < d.questions {
			d.send(s, to, u)
		}
	}
}

func (d *deliveries) send(s *sender, to roster.Incarnation, u Update) {
	s.busy = true
	d.member.Send(Delivery{To: to, Update: u, Pause: s.pause, Question: d.questions})
}

// heard processes a replica's answer, and reports whether it acknowledges changes.
func (d *deliveries) heard(of Delivery, h Holds, err error) (acknowledged bool) {
	s := d.to(of.To)
	switch {
	case err != nil:
		s.pause = min(2*s.pause, lastPause)
	case h.NotYet, !confirms(d.replica, max(h.Newest, h.Held.Term)):
		// The answer does not count, by one roster or the other.
	case h.Gap:
		d.replica.Heard(h.Newest)
		d.replica.Behind(of.To)
	default:
		s.pause = firstPause
		s.answered = max(s.answered, of.Question)
		d.replica.Heard(h.Newest)
		d.replica.Acknowledged(of.To, of.Update.Version, h.Held)
		d.replica.StoredBy(of.To, h.Stored)
		return true
	}
	return false
}

// Delivered processes a replica's answer to a delivery, or the delivery's failure.
func (m *Machine) Delivered(v View, d Delivery, h Holds, err error) {
	m.observe(v)
	m.deliveries.to(d.To).busy = false
	if d.Update.Keep {
		m.keepers.heard(m.deliveries.to(d.To), d, h, err)
	} else if m.deliveries.heard(d, h, err) {
		m.unacked.forget(m.replica.AllAcknowledged)
	}
	if !slices.Contains(m.replica.Needed(), d.To) && !slices.Contains(m.keepers.members(), d.To) {
		delete(m.deliveries.senders, d.To)
	}
	m.settle(v)
}

// Accept applies an update of another owner (B1). An update from an older term is not an
// error; the reply carries the newer term. After a gap the reply requests the whole table.
// An update of a term that the roster does not confirm is ignored.
func (m *Machine) Accept(v View, u Update) (Holds, error) {
	holds, believed := m.Believes(v, u.Position.Term)
	defer m.settle(v)
	if !believed {
		return holds, nil
	}
	var err error
	if u.Keep {
		var fresh bool
		if fresh, err = m.replica.Keep(u); err == nil && fresh {
			m.keepers.kept.apply(u.Position, changeOf(u))
			m.table.ForgetStored() // it no longer follows them
		}
	} else if _, err = m.replica.Accept(u); err == nil {
		m.storage.store(v) // a table that needs no write is stored already
	}
	holds = m.Holds()
	switch {
	case errors.Is(err, backup.ErrGap):
		holds.Gap = true
	case err != nil && !errors.Is(err, backup.ErrOldTerm):
		return Holds{}, err
	}
	return holds, nil
}

// Holds returns this replica's report.
func (m *Machine) Holds() Holds {
	return Holds{Held: m.replica.Position(), Stored: m.replica.OnDisk(), Newest: m.replica.Newest()}
}
