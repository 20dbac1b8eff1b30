package transport

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// handshakeTimeout is how long both sides of a new stream have to say who
	// they are.
	handshakeTimeout = 2 * time.Second
	// handshakesMax is how many accepted streams may be unfinished in their
	// handshake; one more drops the oldest.
	handshakesMax = 128
	// acceptDelayMax is the longest pause after an error of Accept, for
	// instance when the process is out of file descriptors.
	acceptDelayMax = time.Second
)

// acceptor accepts streams and performs the handshake of each in a goroutine of its own, so
// that a silent peer delays no other one. Completed streams are in streams; all others are
// closed without an answer.
//
// When too many are unfinished the oldest is dropped, not the newest: someone
// who opens streams and stays silent has to do so faster than an honest peer
// finishes its handshake.
type acceptor struct {
	ln      net.Listener
	greet   func(net.Conn) (net.Conn, error)
	streams chan net.Conn
	done    chan struct{}
	group   sync.WaitGroup

	mu      sync.Mutex
	closed  bool       // guarded by mu
	pending []net.Conn // unfinished handshakes, oldest first; guarded by mu
}

// newAcceptor starts accepting on ln. greet gets a stream with a deadline on
// it and returns the one to hand out.
func newAcceptor(ln net.Listener, greet func(net.Conn) (net.Conn, error)) *acceptor {
	a := &acceptor{
		ln:      ln,
		greet:   greet,
		streams: make(chan net.Conn, handshakesMax),
		done:    make(chan struct{}),
	}
	a.group.Go(a.accept)
	return a
}

// close ends the listener, every unfinished handshake and all goroutines. It
// may be called more than once.
func (a *acceptor) close() {
	a.mu.Lock()
	first, pending := !a.closed, a.pending
	a.closed, a.pending = true, nil
	a.mu.Unlock()
	if first {
		close(a.done)
		_ = a.ln.Close()
	}
	for _, conn := range pending {
		_ = conn.Close()
	}
	a.group.Wait()
	for {
		select {
		case conn := <-a.streams:
			_ = conn.Close()
		default:
			return
		}
	}
}

func (a *acceptor) accept() {
	var delay time.Duration
	for {
		conn, err := a.ln.Accept()
		switch {
		case err == nil:
			delay = 0
			a.admit(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			delay = min(max(2*delay, 5*time.Millisecond), acceptDelayMax)
			select {
			case <-a.done:
				return
			case <-time.After(delay):
			}
		}
	}
}

// admit starts a handshake. It runs in accept only, which is part of the
// group, so the group cannot be found empty while it adds to it.
func (a *acceptor) admit(conn net.Conn) {
	drop := conn
	a.mu.Lock()
	if !a.closed {
		drop = nil
		if len(a.pending) == handshakesMax {
			drop = a.pending[0]
			a.pending = slices.Delete(a.pending, 0, 1)
		}
		a.pending = append(a.pending, conn)
		a.group.Go(func() { a.handshake(conn) })
	}
	a.mu.Unlock()
	if drop != nil {
		_ = drop.Close()
	}
}

func (a *acceptor) handshake(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	stream, err := a.greet(conn)
	kept := a.finish(conn)
	if err != nil || !kept {
		if stream != nil {
			_ = stream.Close()
		}
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	select {
	case a.streams <- stream:
	default: // streams are no longer taken, or far too slowly
		_ = stream.Close()
	}
}

// finish reports whether conn is still wanted: neither dropped nor closed
// over.
func (a *acceptor) finish(conn net.Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.pending, conn)
	if i < 0 {
		return false
	}
	a.pending = slices.Delete(a.pending, i, i+1)
	return true
}
