package api

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"

	"github.com/snowgrid/snowgrid/security"
)

// serverTLS returns the configuration of the listener, nil for clear text.
func (a *Server) serverTLS() *tls.Config {
	if a.cfg.Security == nil {
		return nil
	}
	return a.cfg.Security.Server()
}

// identify notes who is at the other end of a connection, by its first request. The
// connection is closed when that is verified no longer.
func (c *connection) identify(creds *security.Credentials, r *http.Request) {
	if creds == nil || r.TLS == nil {
		return
	}
	c.identified.Do(func() {
		who := creds.Caller(r.TLS)
		c.who = who
		if c.raw != nil {
			c.raw.keep(who)
		}
	})
}

// keptListener accepts connections that end when their remote is verified no longer.
type keptListener struct{ net.Listener }

// Accept implements net.Listener.
func (l keptListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &keptConn{Conn: c}, nil
}

// keptConn is a connection under TLS.
type keptConn struct {
	net.Conn

	mu     sync.Mutex // guards what follows
	forget func()     // nil while nothing is known of its remote
	closed bool
}

// keep has the connection closed when its remote is verified no longer.
func (c *keptConn) keep(who *security.Remote) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.forget = who.Keep(func(error) { _ = c.Close() })
	}
}

// Close implements net.Conn.
func (c *keptConn) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.forget != nil {
		c.forget()
	}
	c.mu.Unlock()
	return c.Conn.Close()
}
