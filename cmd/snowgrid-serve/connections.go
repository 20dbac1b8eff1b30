package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// connectionsMax is the default limit of each server's connections.
	connectionsMax = 4096
	// filesOf is the fraction of the process's files that each server's connections may take. The rest is for the
	// store.
	filesOf = 3
	// filesUnknown is the number of files where the system states none.
	filesUnknown = filesOf * connectionsMax
	// replacedAfter is the inactivity after which a connection may be closed for a new one.
	replacedAfter = time.Second
	// warnEvery is the minimum time between two warnings of a listener.
	warnEvery = time.Minute
)

// connectionsFlag is the limit of each server's connections.
type connectionsFlag struct {
	MaxConnections int `help:"Connections at the same time, over HTTP and over gRPC each; one more closes the longest inactive. Default: 4096, or a third of the files that the process may open." env:"SNOWGRID_MAX_CONNECTIONS" placeholder:"COUNT"`
}

// limit returns the limit for a process that may open a number of files.
func (f connectionsFlag) limit(files int) (int, error) {
	most := max(files/filesOf, 1)
	switch {
	case f.MaxConnections < 0:
		return 0, fmt.Errorf("--max-connections: %d is negative; give the number of connections, or leave it out for %d",
			f.MaxConnections, min(connectionsMax, most))
	case f.MaxConnections > most:
		return 0, fmt.Errorf(
			"--max-connections: %d are more than %d, a third of the %d files that this process may open; give fewer, or raise "+
				"the limit (ulimit -n, LimitNOFILE)",
			f.MaxConnections, most, files)
	case f.MaxConnections > 0:
		return f.MaxConnections, nil
	}
	return min(connectionsMax, most), nil
}

// limitedListener limits the open connections of a listener. One more closes the longest inactive connection, so that
// silent peers keep no caller out. If all are active, the new one is closed.
type limitedListener struct {
	net.Listener
	limit int
	log   *slog.Logger

	mu     sync.Mutex
	open   map[*limitedConn]struct{} // guarded by mu
	warned time.Time                 // guarded by mu
}

func newLimitedListener(ln net.Listener, limit int, log *slog.Logger) *limitedListener {
	return &limitedListener{Listener: ln, limit: limit, log: log, open: map[*limitedConn]struct{}{}}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) && l.warns() {
				l.log.Warn("connection not accepted", "error", err, "addr", l.Addr().String())
			}
			return nil, err
		}
		c := &limitedConn{Conn: conn, listener: l}
		c.touch()
		if l.admit(c) {
			return c, nil
		}
		_ = conn.Close() // the surplus
	}
}

// admit reports whether a connection has a place, which it may take from another one.
func (l *limitedListener) admit(c *limitedConn) bool {
	l.mu.Lock()
	full, oldest := len(l.open) >= l.limit, (*limitedConn)(nil)
	if full {
		oldest = l.longestInactive()
	}
	admitted := !full || oldest != nil
	if oldest != nil {
		delete(l.open, oldest)
	}
	if admitted {
		l.open[c] = struct{}{}
	}
	l.mu.Unlock()
	if full && l.warns() {
		l.log.Warn("connections at their limit; the longest inactive ones are closed for new ones", "limit", l.limit,
			"addr", l.Addr().String(), "advice", "callers should reuse connections; raise --max-connections if they do")
	}
	if oldest != nil {
		_ = oldest.Close()
	}
	return admitted
}

// longestInactive returns the connection to close for a new one, nil if all are active. The caller holds mu.
func (l *limitedListener) longestInactive() (oldest *limitedConn) {
	last := time.Since(processBegan) - replacedAfter
	for c := range l.open {
		if at := time.Duration(c.active.Load()); at <= last {
			oldest, last = c, at
		}
	}
	return oldest
}

// warns reports whether a warning is due, at most one in warnEvery.
func (l *limitedListener) warns() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.warned) < warnEvery {
		return false
	}
	l.warned = time.Now()
	return true
}

// processBegan is the start of the process's monotonic time.
var processBegan = time.Now()

type limitedConn struct {
	net.Conn
	listener *limitedListener
	active   atomic.Int64 // when bytes last passed, since processBegan
}

func (c *limitedConn) touch() { c.active.Store(int64(time.Since(processBegan))) }

func (c *limitedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.touch()
	}
	return n, err
}

func (c *limitedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if n > 0 {
		c.touch()
	}
	return n, err
}

// CloseWrite ends the sent half, which net/http does before it closes a connection whose request was not read.
func (c *limitedConn) CloseWrite() error {
	if half, is := c.Conn.(interface{ CloseWrite() error }); is {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
