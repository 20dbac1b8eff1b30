package api

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	// smallBody is the size of a body that needs no turn.
	smallBody = 4 << 10
	// callWindow is the part of an unread body that HTTP/2 buffers. A connection has room for it in every
	// call, so that waiting calls do not block the call whose turn it is. A client may send this much before
	// it receives the limit (RFC 9113, 6.9.3), and Go's server resets streams beyond it.
	callWindow = 64 << 10
	// idleTimeout closes connections without calls; HTTP/1.1 connections use Config.IdleFor. Go's server also
	// keeps the memory of an HTTP/2 connection that ended during calls for this time: closing their streams
	// resets its idle timer.
	idleTimeout = 20 * time.Second
	// StreamsMax limits the event streams per connection: one for each holder in a process, with room for
	// replacements.
	StreamsMax = 4
	// pingAfter is the silence that triggers a ping, and pingTimeout bounds its reply. As at the client end,
	// a process with little processor time has to meet it.
	pingAfter   = 5 * time.Second
	pingTimeout = 15 * time.Second
)

// connection is the state of one API connection. Its limits keep a hostile connection below about 2
// MiB: of its concurrent calls, one holder call and one member call may be large. The two kinds take
// separate turns, since a reply to a holder may depend on a replica's reply.
type connection struct {
	holders, members semaphore
	streams          atomic.Int32
	from             string // the address it comes from, "" for none
	peer             string // the other side's address without port

	who     remote // nil in clear text
	kind    kind
	refusal error         // no place is left for it
	resets  *rate.Limiter // of calls that the caller gave up
	misused func()        // ends it; nil if it is of another listener
	input   *input        // nil likewise
	// bodies and allBodies are charged with the bodies of requests; nil for none.
	bodies, allBodies *budget
	rate              *rate.Limiter // of large bodies; nil for none
}

// semaphore is held by one request at a time.
type semaphore chan struct{}

type connectionKey struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	from := c.RemoteAddr().String()
	conn := newConnection()
	conn.from, conn.peer = from, from
	if host, _, err := net.SplitHostPort(conn.peer); err == nil {
		conn.peer = host
	}
	if open := openConnOf(c); open != nil {
		conn.kind, conn.refusal, conn.misused, conn.input = open.kind, open.refusal, open.misused, &open.input
		if open.who != nil {
			conn.who = open.who
		}
		if open.share != nil {
			conn.bodies, conn.allBodies = &open.share.bodies, open.allBodies
			if open.kind != fromMember && open.kind != inClear {
				conn.rate = open.share.rate
			}
		}
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// connectionOf returns the connection that a request came by, a new one for a request by a
// listener of the program's own.
func connectionOf(r *http.Request) *connection {
	if c, ours := r.Context().Value(connectionKey{}).(*connection); ours {
		return c
	}
	return newConnection()
}

func newConnection() *connection {
	return &connection{holders: make(semaphore, 1), members: make(semaphore, 1), resets: newResets()}
}

// begin counts a request with its body's length, until end reports whether the request was answered
// and the body read.
func (c *connection) begin(length int64) (end func(answered, read bool)) {
	if c.input == nil {
		return func(bool, bool) {}
	}
	return c.input.begin(length)
}

// acquire waits for the turn; leave ends it.
func (t semaphore) acquire(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, ServeTimeout)
	defer cancel()
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, failure.Errorf(sequencer.ErrUnavailable, "grid: other large requests take too long: %w", ctx.Err())
	}
}

// readBody reads a request's body. A body above small bytes waits for its turn and keeps it until
// leave. After an error the read deadline stays, so that the server does not wait for the rest.
func readBody(w http.ResponseWriter, r *http.Request, small int64, t semaphore) (body []byte, leave func(), err error) {
	control := http.NewResponseController(w)
	bound := func(by time.Time) { _ = control.SetReadDeadline(by) } // not every connection can
	leave = func() {}
	bound(time.Now().Add(bodyTimeout))
	body, err = wire.ReadBody(io.LimitReader(r.Body, small+1))
	if err == nil && int64(len(body)) > small {
		bound(time.Time{})
		if leave, err = t.acquire(r.Context()); err != nil {
			return nil, func() {}, err
		}
		bound(time.Now().Add(bodyTimeout))
		body, err = wire.ReadBodyOf(io.MultiReader(bytes.NewReader(body), r.Body), r.ContentLength)
	}
	if err == nil {
		bound(time.Time{})
	}
	return body, leave, err
}

// openStream counts an event stream of a certificate or token, "" for none, which end ends.
func (c *connection) openStream(e *Events, id string) (end func(), err error) {
	if c.streams.Add(1) > StreamsMax {
		c.streams.Add(-1)
		return nil, failure.Errorf(sequencer.ErrUnavailable, "grid: this connection has %d event streams already", StreamsMax)
	}
	leave, err := e.admit(strings.TrimSpace(c.peer + " " + id))
	if err != nil {
		c.streams.Add(-1)
		return nil, err
	}
	return func() { leave(); c.streams.Add(-1) }, nil
}

// WhoOf returns the address that a request came from and, after a space, its caller if that
// proved its identity.
func WhoOf(ctx context.Context) string {
	if who, found := ctx.Value(whoKey{}).(string); found {
		return who
	}
	return RemoteOf(ctx)
}

// RemoteOf returns the address that a request came from, at the first member if another has
// passed it on.
func RemoteOf(ctx context.Context) string {
	if first, passedOn := ctx.Value(behalfKey{}).(wire.Caller); passedOn {
		return first.Remote
	}
	if c, remote := ctx.Value(connectionKey{}).(*connection); remote && c.from != "" {
		return c.from
	}
	return "this process"
}

// Go's server ends an HTTP/2 connection when its calls are reset faster than their handlers end.
// Handlers end quickly, so a connection can have a hundred thousand a second begin for nothing.
// A caller that gives up on calls waited for them before; it has eight at a time. So it may give up a burst of
// resetsMax, and as many in each second after that.
const resetsMax = 200

func newResets() *rate.Limiter { return rate.NewLimiter(resetsMax, resetsMax) }

// givenUp counts a call abandoned by its caller, and closes the connection after too many. Members
// trust each other.
func (c *connection) givenUp() {
	if c.misused != nil && c.kind != fromMember && !c.resets.Allow() {
		c.misused()
	}
}
