package calls

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// kind is a kind of call of which a process has a limited number in progress at one member.
type kind int

const (
	// decided are the calls that a member may be slow to decide.
	decided kind = iota
	// destroys are decided too. They wait for detaches by holders, possibly by this process, so
	// they leave half of the places to others.
	destroys
	// replication are the calls that decisions wait for.
	replication
	// relayed are renewals and releases of grants that a member relays to the owner. They do not wait behind
	// first requests.
	relayed
)

// widths are the limits. All calls to a member share a connection: together they stay below
// frames.StreamsMax, and leave a quarter to renewals, the directory, events and other rare calls.
var widths = [...]int{decided: 24, destroys: 12, replication: wire.MaxCalls, relayed: 16}

// limited maps each limited path to its kind. Renewals are not limited: there is one to a member
// at a time, and it must not wait behind calls that a member is slow to decide.
var limited = map[string]kind{
	wire.PathCreate: decided, wire.PathOpen: decided, wire.PathAttach: decided, wire.PathDetach: decided,
	wire.PathDestroy:     destroys,
	wire.PathRelayCreate: decided, wire.PathRelayGrant: decided, wire.PathReplicate: replication,
	wire.PathRelayRenewal: relayed,
}

// limiter bounds the calls in progress for each key; more wait. The zero value is ready.
type limiter struct{ turns handles.Turns[limitKey] }

type limitKey struct {
	addr string
	kind kind
}

// turn waits until a call may be sent; done ends the call. It fails if ctx ends before.
func (l *limiter) turn(ctx context.Context, addr, path string) (done func(), err error) {
	k, waits := limited[path]
	if !waits {
		return func() {}, nil
	}
	end, err := l.turns.Take(ctx, limitKey{addr, k}, widths[k])
	if err != nil || k != destroys {
		return end, err
	}
	also, err := l.turns.Take(ctx, limitKey{addr, decided}, widths[decided])
	if err != nil {
		end()
		return nil, err
	}
	return func() { also(); end() }, nil
}
