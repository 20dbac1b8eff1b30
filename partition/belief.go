package partition

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// A term is the version of the roster that named an owner. A member that has that version
// can check the term. One that does not has only a message, which any process may have
// sent, and waits for the roster. The protocol allows for late and lost messages, so this
// check costs only time.

// ParkTime is how long a message of a term that the roster does not show yet is kept
// for the roster, before its sender is told to send it again. A call between members
// may take a second.
const ParkTime = 800 * time.Millisecond

// NotYetPause is the pause of a sender before it repeats an update that was answered "not
// yet".
const NotYetPause = firstPause

// Shows reports whether a roster is recent enough to check a term.
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
