package partition

import (
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/roster"
)

// An owner sends each other replica what it lacks, one delivery at a time. What
// changes meanwhile goes with the next; while nothing changes there is none.

// Update is what an owner sends to another replica.
type Update = backup.Update[TableState, TableChange]

// Delivery is an update on its way to a replica.
type Delivery struct {
	To     roster.Incarnation
	Update Update
	// Pause is how long to wait after a failure before it is reported.
	Pause    time.Duration
	Question uint64 // to which the answer belongs
}

// Holds is what a replica says that it has.
type Holds struct {
	Held   backup.Position
	Stored backup.Position // on its disk, as far as the owner may be told (D1)
	Newest roster.Term     // that it has heard of
	Gap    bool            // the changes did not follow what it has
	NotYet bool            // its roster does not show the term yet
}

// sender is what an owner knows of the deliveries to one replica.
type sender struct {
	busy     bool          // one is under way, or waits after its failure
	pause    time.Duration // after the next failure
	answered uint64        // the last question that it has answered
}

const (
	firstPause = 20 * time.Millisecond
	lastPause  = 400 * time.Millisecond
)

// senderTo returns what is known of the deliveries to a replica.
func (m *Machine) senderTo(to roster.Incarnation) *sender {
	s := m.senders[to]
	if s == nil {
		s = &sender{pause: firstPause}
		m.senders[to] = s
	}
	return s
}

// replicate sends everybody needed what it lacks.
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

// Delivered notes what a replica answered to a delivery, or that it could not be
// asked.
func (m *Machine) Delivered(v View, d Delivery, h Holds, err error) {
	m.observe(v)
	m.heard(d, h, err)
	m.settle(v)
}

func (m *Machine) heard(d Delivery, h Holds, err error) {
	s := m.senderTo(d.To)
	s.busy = false
	switch {
	case err != nil:
		s.pause = min(2*s.pause, lastPause)
	case h.NotYet, !m.confirms(max(h.Newest, h.Held.Term)):
		// Nothing was said that counts, by one roster or the other.
	case h.Gap:
		m.replica.Heard(h.Newest)
		m.replica.Behind(d.To)
	default:
		s.pause = firstPause
		s.answered = max(s.answered, d.Question)
		m.replica.Heard(h.Newest)
		m.replica.Acknowledged(d.To, d.Update.Version, h.Held)
		m.replica.StoredBy(d.To, h.Stored)
		m.unheld.forget(m.replica.Holds)
	}
	if !slices.Contains(m.replica.Needed(), d.To) {
		delete(m.senders, d.To)
	}
}

// Accept takes what another owner sends (B1). What is of an older term is no error:
// its sender hears of the newer one. What does not follow is asked for as a whole, and
// what is of a term that the roster does not confirm is not looked at.
func (m *Machine) Accept(v View, u Update) (Holds, error) {
	holds, believed := m.Believes(v, u.Position.Term)
	defer m.settle(v)
	if !believed {
		return holds, nil
	}
	_, err := m.replica.Accept(u)
	gap := errors.Is(err, backup.ErrGap)
	if err != nil && !gap && !errors.Is(err, backup.ErrOldTerm) {
		return Holds{}, err
	}
	m.store(v) // what needs no writing is on disk at once
	return m.holds(gap), nil
}

// Holds says what this replica has.
func (m *Machine) Holds() Holds { return m.holds(false) }

func (m *Machine) holds(gap bool) Holds {
	return Holds{Held: m.replica.Position(), Stored: m.replica.OnDisk(), Newest: m.replica.Newest(), Gap: gap}
}
