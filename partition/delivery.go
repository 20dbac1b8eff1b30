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

// sender is the state of the deliveries to one replica.
type sender struct {
	busy     bool          // one is in progress, or waits after its failure
	pause    time.Duration // after the next failure
	answered uint64        // the last question that it has answered
}

const (
	firstPause = 20 * time.Millisecond
	lastPause  = 400 * time.Millisecond
)

// senderTo returns the state of the deliveries to a replica.
func (m *Machine) senderTo(to roster.Incarnation) *sender {
	s := m.senders[to]
	if s == nil {
		s = &sender{pause: firstPause}
		m.senders[to] = s
	}
	return s
}

// replicate sends every needed replica the changes that it lacks.
func (m *Machine) replicate() {
	for _, to := range m.replica.Needed() {
		s := m.senderTo(to)
		if s.busy {
			continue
		}
		if u, due := m.replica.Update(to); due || s.answered < m.questions {
			s.busy = true
			m.member.Send(Delivery{To: to, Update: u, Pause: s.pause, Question: m.questions})
		}
	}
}

// Delivered processes a replica's answer to a delivery, or the failure of the delivery.
func (m *Machine) Delivered(v View, d Delivery, h Holds, err error) {
	m.observe(v)
	m.heard(d, h, err)
	m.settle(v)
}

func (m *Machine) heard(d Delivery, h Holds, err error) {
	s := m.senderTo(d.To)
	s.busy = false
	switch {
	case d.Update.Keep:
		m.heardKeeper(d, h, err)
	case err != nil:
		s.pause = min(2*s.pause, lastPause)
	case h.NotYet, !m.confirms(max(h.Newest, h.Held.Term)):
		// The answer does not count, by one roster or the other.
	case h.Gap:
		m.replica.Heard(h.Newest)
		m.replica.Behind(d.To)
	default:
		s.pause = firstPause
		s.answered = max(s.answered, d.Question)
		m.replica.Heard(h.Newest)
		m.replica.Acknowledged(d.To, d.Update.Version, h.Held)
		m.replica.StoredBy(d.To, h.Stored)
		m.unacked.forget(m.replica.AllAcknowledged)
	}
	if !slices.Contains(m.replica.Needed(), d.To) && !slices.Contains(m.keepers(), d.To) {
		delete(m.senders, d.To)
	}
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
	if u.Keep {
		return m.acceptDefinitions(u)
	}
	if _, err := m.replica.Accept(u); err != nil {
		return m.refusal(err)
	}
	m.store(v) // a table that needs no write is stored already
	return m.holds(false), nil
}

// refusal returns the reply to an update that this replica does not accept.
func (m *Machine) refusal(err error) (Holds, error) {
	gap := errors.Is(err, backup.ErrGap)
	if !gap && !errors.Is(err, backup.ErrOldTerm) {
		return Holds{}, err
	}
	return m.holds(gap), nil
}

// Holds returns this replica's report.
func (m *Machine) Holds() Holds { return m.holds(false) }

func (m *Machine) holds(gap bool) Holds {
	return Holds{Held: m.replica.Position(), Stored: m.replica.OnDisk(), Newest: m.replica.Newest(), Gap: gap}
}
