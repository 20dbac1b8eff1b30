// Package calls carries a process's calls to members: the transport in frames or HTTP, its connections
// and their limits. Packages client and grid share it.
package calls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Transport sends calls to members by their API addresses.
type Transport interface {
	// Call sends in to path and decodes the reply into out. An error in the reply matches the
	// sentinel that the member returned.
	Call(ctx context.Context, addr, path string, in, out any) error
	// Events opens a holder's event stream; it ends with ctx.
	Events(ctx context.Context, addr string, in wire.EventsRequest) (Stream, error)
}

// Stream is an open event stream.
type Stream interface {
	Next() (wire.Event, error) // waits for the next event
	Close() error
}

// HTTP is the transport to members, in clear text or TLS. It has one connection to a member, which
// begins as HTTP/1.1 and is upgraded to frames (package internal/frames): calls and event streams
// share it, and none waits behind a slow one.
//
// Members with a release before frames, and requests with other headers, use HTTP/2: one connection
// to a member for renewals, the directory and the event stream, and up to two for calls that a
// member may be slow to decide, so that renewals never wait for these; members have one more for
// replication (see limiter.go). A call waits for its turn on the existing connection, and its end
// does not end the connection.
type HTTP struct {
	// Broken, if not nil, is called with an address after its framed connection has ended, unless
	// Close closed it: the process there may have ended, or the connection was idle. It is set
	// before the first call, and must not block.
	Broken func(addr string)

	creds  *security.Credentials // nil: clear text
	plain  bool                  // no frames
	lines  framedLines
	base   [lines]baseLine
	calls  limiter
	dials  limiter // by address alone
	dial   func(ctx context.Context, addr string) (net.Conn, error)
	dialed dialCounts
}

// Limits for a process's connections to one member. An overloaded process must not keep opening
// connections: they are not the bottleneck then.
const (
	// connsMax is the number of connections per line and address. A connection that is closing, and
	// accepts no more calls, does not count.
	connsMax = 1
	// dialTimeout bounds one dial, including the wait for its turn: dials to an address run one at
	// a time.
	dialTimeout = 2 * time.Second
	// pingAfter is the silence after which a connection is pinged, and pingTimeout the time limit
	// for the reply. It has to suffice for a process with little processor time: a closed
	// connection costs both ends more than the calls that timed out. The kernel detects a broken
	// path earlier, see TCP.
	pingAfter   = 5 * time.Second
	pingTimeout = 15 * time.Second
)

// NewHTTP returns a transport that opens connections by dial. With credentials it uses TLS, with
// the credentials current at each dial; with nil, clear text.
func NewHTTP(dial func(ctx context.Context, addr string) (net.Conn, error), creds *security.Credentials) *HTTP {
	return &HTTP{creds: creds, dial: dial}
}

// baseLine is a line over HTTP, made for its first request: most processes need none.
type baseLine struct {
	once      sync.Once
	transport *http.Transport
}

// baseOf returns a line's transport, and makes it if necessary.
func (h *HTTP) baseOf(on line) *http.Transport {
	b := &h.base[on]
	b.once.Do(func() { b.transport = h.transport() })
	return b.transport
}

// NewPlainHTTP is NewHTTP without frames, for measurements and tests.
func NewPlainHTTP(dial func(ctx context.Context, addr string) (net.Conn, error), creds *security.Credentials) *HTTP {
	h := NewHTTP(dial, creds)
	h.plain = true
	return h
}

// transport returns the transport for one line. It has no IdleConnTimeout: a member closes
// connections that are idle for 20 s, and with that option net/http dials needlessly whenever a
// connection in use reaches that age.
func (h *HTTP) transport() *http.Transport {
	var protocols http.Protocols
	if h.creds == nil {
		protocols.SetUnencryptedHTTP2(true)
	} else {
		protocols.SetHTTP2(true)
	}
	return &http.Transport{
		Protocols:       &protocols,
		MaxConnsPerHost: connsMax,
		DialContext:     func(ctx context.Context, _, addr string) (net.Conn, error) { return h.dialInTurn(ctx, addr) },
		DialTLSContext:  func(ctx context.Context, _, addr string) (net.Conn, error) { return h.dialTLS(ctx, addr, "h2") },
		HTTP2: &http.HTTP2Config{
			StrictMaxConcurrentRequests: true, SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
		},
	}
}

// dialInTurn opens a connection when no other dial to the address is in progress.
func (h *HTTP) dialInTurn(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	_, done, err := h.dials.enter(ctx, limitKey{addr: addr}, 1, false)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := ctx.Err(); err != nil {
		return nil, err // the turn came as ctx ended
	}
	conn, err := h.dial(ctx, addr)
	h.dialed.count(err)
	return conn, err
}

// turn waits until a call may be sent, and returns its line; done ends the call. It fails if ctx
// ends before.
func (h *HTTP) turn(ctx context.Context, addr, path string) (on line, done func(), err error) {
	first, waits := limited[path]
	if !waits {
		return vital, func() {}, nil
	}
	key, width := limitKey{addr: addr, first: first}, connectionCalls
	if first == decided && !h.plain && h.lines.ready(addr) != nil {
		key.framed, width = true, framedCalls
	}
	// A destroy waits for detaches by holders, possibly by this process: destroys leave the other
	// line to them.
	return h.calls.enter(ctx, key, width, first == decided && path != wire.PathDestroy)
}

// Close closes the framed connections, and idle HTTP connections.
func (h *HTTP) Close() {
	h.lines.close()
	for i := range h.base {
		h.baseOf(line(i)).CloseIdleConnections()
	}
}

// Call implements Transport.
func (h *HTTP) Call(ctx context.Context, addr, path string, in, out any) error {
	return h.CallWith(ctx, addr, path, http.Header{}, in, out)
}

// CallWith is Call with headers, which it adds to.
func (h *HTTP) CallWith(ctx context.Context, addr, path string, header http.Header, in, out any) error {
	on, done, err := h.turn(ctx, addr, path)
	if err != nil {
		return unreachable(addr, err)
	}
	defer done()
	body, err := wire.Encode(wire.MsgPack, in)
	if err != nil {
		return err
	}
	status, data, framed, err := h.inFrames(ctx, addr, path, header, body)
	if !framed {
		status, data, err = h.overHTTP(ctx, on, addr, path, header, body)
	}
	if err != nil {
		return err
	}
	return readAnswer(addr, status, data, out)
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

// overHTTP makes a call over HTTP.
func (h *HTTP) overHTTP(ctx context.Context, on line, addr, path string, header http.Header, body []byte) (status int,
	data []byte, err error) {
	res, err := h.post(ctx, on, addr, path, header, body)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if data, err = wire.ReadBody(res.Body); err != nil {
		return 0, nil, unreadable(addr, res.StatusCode, err)
	}
	return res.StatusCode, data, nil
}

// Events implements Transport.
func (h *HTTP) Events(ctx context.Context, addr string, in wire.EventsRequest) (Stream, error) {
	body, err := wire.Encode(wire.MsgPack, in)
	if err != nil {
		return nil, err
	}
	if stream, framed, err := h.eventsInFrames(ctx, addr, body); framed {
		return stream, err
	}
	res, err := h.post(ctx, vital, addr, wire.PathEvents, http.Header{}, body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }()
		data, err := wire.ReadBody(res.Body)
		if err != nil {
			return nil, unreadable(addr, res.StatusCode, err)
		}
		return nil, answered(addr, res.StatusCode, data)
	}
	return httpStream{res.Body}, nil
}

func (h *HTTP) post(ctx context.Context, on line, addr, path string, header http.Header, body []byte) (*http.Response,
	error) {
	scheme := "http"
	if h.creds != nil {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+"://"+addr+path, bytes.NewReader(body))
	if err != nil {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig, "client: %w", err)
	}
	req.Header = header
	req.Header.Set("Content-Type", wire.MsgPack)
	h.identify(req.Header)
	if ms := remaining(ctx); ms > 0 {
		req.Header.Set(wire.HeaderTimeout, strconv.FormatInt(ms, 10))
	}
	res, err := h.baseOf(on).RoundTrip(req)
	if err != nil {
		return nil, unreachable(addr, h.explainCut(err))
	}
	if err := wire.CheckRelease(res.Header); err != nil {
		_ = res.Body.Close()
		return nil, failure.Errorf(wire.ErrProtocol, "member at %s: %w", addr, err)
	}
	return res, nil
}

// remaining returns the milliseconds until ctx ends, 0 if it has no deadline. They are rounded up:
// a member that gives up first would return a less precise error.
func remaining(ctx context.Context) int64 {
	end, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max((time.Until(end) + time.Millisecond - 1).Milliseconds(), 1)
}

// unreachable wraps an error that kept a call from being answered.
func unreachable(addr string, err error) error {
	if advice := security.Explain(err); advice != err.Error() {
		err = failure.Errorf(err, "%s (%w)", advice, err)
	}
	return failure.Errorf(sequencer.ErrUnavailable, "member at %s: %w", addr, err)
}

// answered returns the error in a reply's body.
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
	return unreachable(addr, fmt.Errorf("unreadable answer, HTTP status %d: %s; check that this is a snowgrid API address", status, err.Error()))
}

type httpStream struct{ body io.ReadCloser }

func (s httpStream) Next() (wire.Event, error) { return wire.ReadEvent(s.body) }
func (s httpStream) Close() error              { return s.body.Close() }
