// Package calls carries a process's calls to members: the transport, its connections and
// their limits. Packages client and grid share it.
package calls

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Transport sends calls to members by their API addresses.
type Transport interface {
	// Call sends in to path and decodes the reply into out. An error in the reply matches the
	// sentinel that the member returned.
	Call(ctx context.Context, addr, path string, in, out any) error
	// Events opens a holder's event stream. event is called for each event, and end once, when the stream
	// has ended, which it does with ctx at the latest. Neither may wait. After an error neither is called.
	Events(ctx context.Context, addr string, in wire.EventsRequest, event func(wire.Event), end func()) error
}

// Pool is the transport to members, in clear text or TLS. It has one connection to a member, which
// begins as HTTP/1.1 and is upgraded to frames (package internal/frames): calls and event streams
// share it, and none waits behind a slow one. A call waits for its turn on the existing connection,
// and its end does not end the connection.
type Pool struct {
	// Broken, if not nil, is called with an address after its connection has ended, unless Close
	// closed it: the process there may have ended, or the connection was idle. It is set before the
	// first call, and must not block.
	Broken func(addr string)

	creds *security.Credentials // nil: clear text
	lines framedLines
	calls limiter
	dial  func(ctx context.Context, addr string) (net.Conn, error)
	// dials and failures count the attempts to open a connection, and the failed ones.
	dials, failures atomic.Uint64
}

// Dials returns the number of attempts to open a connection, and the number of failed ones.
func (p *Pool) Dials() (dials, failures uint64) { return p.dials.Load(), p.failures.Load() }

// dialTimeout bounds one dial. Dials to an address run one at a time, because all calls wait for the
// same attempt: an overloaded process must not keep opening connections.
const dialTimeout = 2 * time.Second

// NewPool returns a pool that opens connections by dial. With credentials it uses TLS, with
// the credentials current at each dial; with nil, clear text.
func NewPool(dial func(ctx context.Context, addr string) (net.Conn, error), creds *security.Credentials) *Pool {
	return &Pool{creds: creds, dial: dial}
}

// dialClear opens a connection in clear text.
func (p *Pool) dialClear(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := p.dial(ctx, addr)
	p.dials.Add(1)
	if err != nil {
		p.failures.Add(1)
	}
	return conn, err
}

// Close closes the connections.
func (p *Pool) Close() { p.lines.close() }

// Call implements Transport.
func (p *Pool) Call(ctx context.Context, addr, path string, in, out any) error {
	return p.CallWith(ctx, addr, frame.Head{Path: path}, in, out)
}

// CallWith is Call with a head. It sets the head's time limit, to the time that ctx has left.
func (p *Pool) CallWith(ctx context.Context, addr string, head frame.Head, in, out any) error {
	done, err := p.calls.turn(ctx, addr, head.Path)
	if err != nil {
		return unreachable(addr, err)
	}
	defer done()
	body, err := wire.Encode(wire.MsgPack, in)
	if err != nil {
		return err
	}
	for {
		conn, err := p.framed(ctx, addr)
		if err != nil {
			return err
		}
		head.Timeout = remaining(ctx)
		status, data, err := conn.Do(ctx, head, body)
		switch {
		case errors.Is(err, frames.ErrNotSent):
			// The connection ended while this call began; the next is dialed.
		case err != nil:
			return unreachable(addr, err)
		default:
			return readAnswer(addr, status, data, out)
		}
	}
}

// readAnswer decodes a reply: a result or an error.
func readAnswer(addr string, status int, data []byte, out any) error {
	if status != http.StatusOK {
		return answered(addr, status, data)
	}
	if err := wire.DecodeTolerant(wire.MsgPack, data, out); err != nil {
		return unreadable(addr, status, err)
	}
	return nil
}

// remaining returns the milliseconds until ctx ends, 0 if it has no deadline. They are rounded up:
// a member that gives up first would return a less precise error.
func remaining(ctx context.Context) uint32 {
	end, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	ms := max((time.Until(end) + time.Millisecond - 1).Milliseconds(), 1)
	return uint32(min(ms, 1<<31)) //nolint:gosec // bounded
}

// unreachable wraps an error that kept a call from being answered.
func unreachable(addr string, err error) error {
	if advice := security.Explain(err); advice != err.Error() {
		err = failure.Errorf(err, "%s (%w)", advice, err)
	}
	return failure.Errorf(sequencer.ErrUnavailable, "member at %s: %w", addr, err)
}

func answered(addr string, status int, body []byte) error {
	var e wire.Error
	if err := wire.DecodeTolerant(wire.MsgPack, body, &e); err != nil || e.Code == "" {
		return unreadable(addr, status, errors.New("the body has no error code"))
	}
	return e.Unwire()
}

// unreadable returns the error for a reply that cannot be decoded. The cause is not wrapped,
// because it does not concern the request.
func unreadable(addr string, status int, err error) error {
	return unreachable(addr, fmt.Errorf("unreadable answer, HTTP status %d: %s; check that this is a snowgrid API address",
		status, err.Error()))
}
