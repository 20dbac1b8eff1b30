package partition

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// A term is the roster version that named an owner. A member with that version can check the term.
// Other members have only a message, which any process may have sent, and wait for the roster. The
// protocol tolerates late and lost messages, so this check costs only time.

// ParkTime is the time for which a message with a term newer than the roster is kept, before its
// sender gets a reply to send it again. A call between members may take a second.
const ParkTime = 800 * time.Millisecond

// NotYetPause is the pause of a sender before it repeats an update that was answered "not
// yet".
const NotYetPause = firstPause

// Shows reports whether a roster is recent enough to check a term.
func Shows(r *roster.Roster, term roster.Term) bool {
	return roster.Version(term) <= r.Version
}

// Believes reports whether the newest roster confirms the term in a message: it is the term of the
// partition's owner, or an earlier one. If not, the caller replies with the returned Holds.
func (m *Machine) Believes(v View, term roster.Term) (Holds, bool) {
	m.observe(v)
	h := m.Holds()
	if !Shows(v.Roster, term) {
		h.NotYet = true
		return h, false
	}
	return h, confirms(m.replica, term)
}

// confirms reports whether the roster that a replica observed last names a term. A later one
// that it does not name was never any owner's.
func confirms(r *tableReplica, term roster.Term) bool { return term <= r.Newest() }
