package partition

import (
	"time"

	"github.com/snowgrid/snowgrid/roster"
)

// A term is the version of the roster that named an owner. So a member that knows that
// version knows what the term is, and one that does not has nothing but a message to go
// by, which anybody may have sent: it waits for the roster. A message that is late or
// lost is one that the protocol allows for, so that belief costs time only.

// ParkTime is how long a message of a term that the roster does not show yet is kept
// for the roster, before its sender is told to send it again. A call between members
// may take a second.
const ParkTime = 800 * time.Millisecond

// NotYetPause is how long a sender waits before it sends again what was not taken yet.
const NotYetPause = firstPause

// Shows reports whether a roster tells what a term is.
func Shows(r *roster.Roster, term roster.Term) bool {
	return roster.Version(term) <= r.Version
}

// Believes reports whether the newest roster confirms a term that a message carried: it
// is the one of the partition's owner, or an earlier one. If not, the holds say what to
// answer.
func (m *Machine) Believes(v View, term roster.Term) (Holds, bool) {
	m.observe(v)
	h := m.holds(false)
	if !Shows(v.Roster, term) {
		h.NotYet = true
		return h, false
	}
	return h, m.confirms(term)
}

// confirms reports whether the roster that was observed last names a term. A later one
// that it does not name was never any owner's.
func (m *Machine) confirms(term roster.Term) bool { return term <= m.replica.Newest() }
