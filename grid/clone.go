package grid

import (
	"context"
	"errors"
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// A data directory that was copied gives two processes one member ID, and in Raft
// one vote. The roster registers one incarnation of a member at a time, so the two
// would take each other's place without end. The leader therefore asks the
// registered incarnation at its own address before it lets in another one: while it
// answers, the newcomer is refused. After a crash the address refuses connections,
// or the restarted process answers there, and nothing is waited for.

// registered returns the roster's record of a member ID, of whichever incarnation.
func registered(r *roster.Roster, id roster.MemberID) (roster.Member, bool) {
	for _, member := range r.Members {
		if member.Incarnation.Member() == id {
			return member, true
		}
	}
	return roster.Member{}, false
}

// refuseClone returns, at the leader, an error that matches wire.ErrIdentityInUse if
// another incarnation of the newcomer's member ID is registered and answers. Else it
// returns the registered incarnation that the newcomer may replace, "" for none.
func (m *Member) refuseClone(ctx context.Context, newcomer roster.Incarnation) (roster.Incarnation, error) {
	other, found := registered(m.state.Roster(), newcomer.Member())
	if !found || other.Incarnation == newcomer {
		return "", nil
	}
	if other.Incarnation != m.self {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		if _, err := m.hello(ctx, other.API, other.Incarnation); err != nil {
			return other.Incarnation, nil
		}
	}
	return "", failure.Errorf(wire.ErrIdentityInUse, "grid: another process has this member's identity: member %s runs at %s as %s", newcomer.Member(), other.API, other.Incarnation)
}

// replaces reports whether a request to join would replace another incarnation than
// the one that did not answer when the request was made. Its member asks again.
func (j joining) replaces(r *roster.Roster) bool {
	other, found := registered(r, j.member.Incarnation.Member())
	return found && other.Incarnation != j.member.Incarnation && other.Incarnation != j.instead
}

// clash is why the leader does not let this member in: its identity is in use.
type clash struct {
	mu     sync.Mutex
	reason error
}

// set records a reason, nil for none any more, and reports whether it is another one
// than before.
func (c *clash) set(reason error) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = (reason == nil) != (c.reason == nil) || reason != nil && reason.Error() != c.reason.Error()
	c.reason = reason
	return changed
}

func (c *clash) now() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// cloneAdvice is the remedy for an identity that is in use.
const cloneAdvice = "stop one of the two processes, and start a new member with an empty data directory: a data directory must not be copied"

// noteRefusal looks at why the leader did not let this member in. A member that has
// not served yet ends with the error; one that has served stays out of the grid.
func (m *Member) noteRefusal(err error) {
	if !errors.Is(err, wire.ErrIdentityInUse) {
		return
	}
	reason := refusal.Invalid("DataDir %q: %v; %s", m.cfg.DataDir, err, cloneAdvice)
	if m.clash.set(reason) {
		m.log.Error("member refused: its identity is in use", "error", reason)
	}
	m.state.Fail(reason)
}
