package api

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
	"github.com/snowgrid/snowgrid/security"
)

// Limits on connections without an identified caller, and on connections beyond the limit.
const (
	tlsTimeout = 5 * time.Second
	// handshakesMax limits unfinished TLS handshakes; each takes about 40 KB until its garbage is collected.
	// Further ones wait as bare connections.
	handshakesMax  = 64
	handshakesHost = 32 // of one address
	// refusalsMax limits connections beyond the limit that wait for their one request, and refusalTimeout
	// bounds their wait. A further one closes the oldest, so that silent connections do not block a health
	// check.
	refusalsMax    = 128
	refusalTimeout = 2 * time.Second
)

// listener accepts the API's connections. It leaves none in the system's backlog: it refuses the
// surplus. Under TLS it identifies the peer.
//
//	accept --> handshake (package acceptor) --> connectionlimits.go --> HTTP server
//	                                                     \-> one answer: 503, and the end
type listener struct {
	net.Listener
	server   *Server
	acceptor *acceptor.Acceptor
	refusals refusals
	turns    *handshakeTurns
}

func (a *Server) newListener(ln net.Listener) *listener {
	l := &listener{Listener: ln, server: a, turns: newHandshakeTurns()}
	l.acceptor = acceptor.New(ln, acceptor.Config{
		Greet: l.greet, Timeout: tlsTimeout, Handshakes: handshakesMax, PerAddress: handshakesHost, Wait: true,
		Failed: a.cfg.NotAccepted,
	})
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.acceptor.Streams:
		return conn, nil
	case <-l.acceptor.Done():
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.acceptor.Close()
	return nil
}

// greet finds out who opened a connection, and whether there is a place for it.
func (l *listener) greet(raw net.Conn) (net.Conn, error) {
	inTurn := &turnConn{Conn: raw, from: acceptor.Host(raw.RemoteAddr())}
	conn := &openConn{Conn: inTurn, closed: make(chan struct{})}
	counts := &l.server.counts
	counts.accepted.Add(1)
	counts.connections.Add(1)
	conn.onClose(func() { counts.connections.Add(-1) })
	key := placeKey{kind: inClear, host: inTurn.from}
	out := net.Conn(conn)
	if creds := l.server.cfg.Security; creds != nil {
		secured := tls.Server(conn, creds.Server())
		inTurn.turns, inTurn.gone = l.turns, conn.closed
		err := secured.HandshakeContext(context.Background()) // the acceptor's deadline ends it
		inTurn.end()
		if err != nil {
			answerClearText(err)
			_ = conn.Close()
			l.report(raw.RemoteAddr(), err)
			return nil, err
		}
		state := secured.ConnectionState()
		who := creds.Caller(&state)
		peer, err := who.Peer()
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		conn.who, key.kind, key.id = who, kindOf(peer), peer.ID
		conn.onClose(who.Keep(func(error) { _ = conn.Close() }))
		conn.keepOut = func() { l.server.places.keepOut(key, time.Now()) }
		out = secured
	}
	conn.idleFor = l.server.cfg.IdleFor
	share, leave, err := l.server.places.enter(key)
	conn.kind, conn.share, conn.allBodies = key.kind, share, &l.server.bodies
	conn.onClose(leave)
	conn.onClose(func() { l.server.places.busy(conn) })
	if err == nil {
		conn.input.peer, conn.input.all = &share.unanswered, &l.server.unanswered
		conn.onClose(conn.input.end)
		return out, nil
	}
	conn.refusal, conn.input.refused = err, refusedBytes(err)
	timer := time.AfterFunc(refusalTimeout, func() { _ = conn.Close() })
	conn.onClose(func() { timer.Stop() })
	l.refusals.add(conn)
	return out, nil
}

type refusals struct {
	mu    sync.Mutex
	conns []*openConn // oldest first; guarded by mu
}

// add adds a connection until it is closed, and closes the oldest if there are too many.
func (r *refusals) add(conn *openConn) {
	r.mu.Lock()
	r.conns = append(r.conns, conn)
	var oldest *openConn
	if len(r.conns) > refusalsMax {
		oldest = r.conns[0]
	}
	r.mu.Unlock()
	conn.onClose(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.conns = slices.DeleteFunc(r.conns, func(c *openConn) bool { return c == conn })
	})
	if oldest != nil {
		_ = oldest.Close()
	}
}

// clearTextAnswer is for callers that speak HTTP without TLS, such as curl with http://.
const clearTextAnswer = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: " +
	"close\r\n\r\n" +
	"Client sent an HTTP request to an HTTPS server: use https:// with the authority of the grid (ca.crt), and a " +
	"certificate or a token.\n"

// answerClearText answers a clear-text request that made a handshake fail.
func answerClearText(err error) {
	first, is := errors.AsType[tls.RecordHeaderError](err)
	if !is || first.Conn == nil {
		return
	}
	switch string(first.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET":
		_, _ = io.WriteString(first.Conn, clearTextAnswer)
	}
}

func (l *listener) report(from net.Addr, err error) {
	if silent, is := errors.AsType[net.Error](err); errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		is && silent.Timeout() {
		return
	}
	l.server.cfg.Library.Report(slog.LevelWarn, "caller refused", security.Explain(err), "from", acceptor.Host(from),
		"error", err.Error())
}

type openConn struct {
	net.Conn
	who     *security.Remote // nil in clear text
	kind    kind
	share   *peerShare // nil if it is refused
	refusal error      // no place is left for it

	allBodies *budget // of all callers
	input     input
	framed    bool          // it is served in frames; set by the goroutine that reads it
	entry     idleEntry     // guarded by places.mu
	waits     atomic.Bool   // its last request has ended, and no deadline was set since
	idleFor   time.Duration // see Config.IdleFor
	piece     int           // bytes that were read since others had the processor
	keepOut   func()        // keeps the peer out for a time; nil in clear text

	mu     sync.Mutex // guards atEnd and the closing of closed
	closed chan struct{}
	atEnd  []func()
}

// onClose has f run when the connection is closed.
func (c *openConn) onClose(f func()) {
	c.mu.Lock()
	select {
	case <-c.closed:
		c.mu.Unlock()
		f()
		return
	default:
	}
	c.atEnd = append(c.atEnd, f)
	c.mu.Unlock()
}

func (c *openConn) Close() error {
	c.mu.Lock()
	select {
	case <-c.closed:
		c.mu.Unlock()
		return net.ErrClosed
	default:
	}
	close(c.closed)
	atEnd := c.atEnd
	c.atEnd = nil
	c.mu.Unlock()
	err := c.Conn.Close()
	for _, f := range atEnd {
		f()
	}
	return err
}

// openConnOf returns the accepted connection beneath c, nil for another listener's.
func openConnOf(c net.Conn) *openConn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	open, _ := c.(*openConn)
	return open
}

// refusedHere answers a request of a connection that has no place, and ends that connection.
// Health checks are answered as ever: a member that is full is alive.
func (a *Server) refusedHere(w http.ResponseWriter, r *http.Request) bool {
	refusal := connectionOf(r).refusal
	if refusal == nil {
		return false
	}
	w.Header().Set("Connection", "close")
	if path := r.URL.Path; path == "/livez" || path == "/readyz" {
		return false
	}
	// Without this some clients of HTTP/2 lose the answer. refusedMax and refusalTimeout bound the body.
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Retry-After", "1")
	a.refuse(w, answerKind(r), refusal)
	return true
}
