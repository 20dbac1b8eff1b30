package formation

import (
	"errors"
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// A copied data directory gives two processes one member ID, and in Raft one vote. The roster
// registers one incarnation per member, so the two would replace each other endlessly. The leader
// therefore probes the registered incarnation at its own address before it admits another one, itself
// included: while it replies, the newcomer is refused. After a crash the address refuses connections, or the restarted
// process replies there, without delay.

type clash struct {
	mu     sync.Mutex
	reason error
}

func (c *clash) set(reason error) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = (reason == nil) != (c.reason == nil) || reason != nil && reason.Error() != c.reason.Error()
	c.reason = reason
	return changed
}

// CloneAdvice is the remedy for an identity that is in use.
const CloneAdvice = "stop one of the two processes, and start a new member with an empty data directory: a data " +
	"directory must not be copied"

// NoteRefusal handles the leader's refusal. A member that has not served yet ends with the error; one
// that has served stays out of the grid.
func (f *Formation) NoteRefusal(err error) {
	if !errors.Is(err, wire.ErrIdentityInUse) {
		return
	}
	reason := refusal.Invalid("DataDir %q: %v; %s", f.cfg.DataDir, err, CloneAdvice)
	if f.clash.set(reason) {
		f.log.Error("member refused: its identity is in use", "error", reason)
	}
	f.state.Fail(reason)
}

// Clash returns why the leader does not let this member in, nil if it does: its identity
// is in use.
func (f *Formation) Clash() error {
	f.clash.mu.Lock()
	defer f.clash.mu.Unlock()
	return f.clash.reason
}
