package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Raft's transport reads a request of any length, for as long as its bytes come. So
// its input is bounded here: one request at a time is in progress on a stream, and
// it ends when its answer is written.
const (
	// raftSmallRequest is the maximum size of a request that needs no turn. Nearly every request is smaller;
	// larger ones, such as a large grid's first entries or its snapshot, are read one at a time across all
	// streams.
	raftSmallRequest = 512 << 10
	raftRequestMax   = 64 << 20
	// raftRequestTimeout bounds a request's arrival, plus raftCallTimeout for each raftPace bytes.
	raftRequestTimeout = 10 * time.Second
	raftPace           = 1 << 20
)

var errRequestTooLarge = errors.New("grid: the Raft request is larger than any member sends")

// raftServed is an accepted stream. One goroutine at a time reads it; another may
// close it.
type raftServed struct {
	net.Conn
	// authorize returns nil if the other end may send a request that begins with a byte.
	authorize func(kind byte) error
	ctx       context.Context // ends with the layer
	broken    func()          // called at the stream's end unless the layer has ended; may be nil
	large     chan struct{}   // of the layer

	mu     sync.Mutex // guards the fields below; never held while waiting
	closed bool
	leave  func()    // ends this stream's turn, nil if it has none
	began  time.Time // of the request that is being read
	taken  int       // bytes of it
	shape  raftShape // of it
}

// serveRaft bounds the requests on an accepted stream. The first one has to arrive
// immediately, later ones at any time.
func (s *RaftStream) serveRaft(conn net.Conn) *raftServed {
	_ = conn.SetReadDeadline(time.Now().Add(raftRequestTimeout))
	served := &raftServed{Conn: conn, ctx: s.ctx, large: s.large, broken: s.Broken}
	served.authorize = func(kind byte) error {
		c := conn.(*raftConn)
		return s.authorize(c.raw, c.remote, raftActions[kind])
	}
	return served
}

func (r *raftServed) Read(b []byte) (int, error) {
	room, err := r.room()
	if err != nil {
		return 0, err
	}
	n, err := r.Conn.Read(b[:min(len(b), room)])
	if n > 0 {
		if err := r.begins(b[0]); err != nil {
			return 0, err
		}
		if err := r.count(b[:n]); err != nil {
			return 0, err // not a byte of it is decoded
		}
	}
	return n, err
}

// room returns how many bytes of the request may be read now, and waits for its
// turn first if it is no longer small.
func (r *raftServed) room() (int, error) {
	r.mu.Lock()
	taken, waits, until := r.taken, r.leave == nil, r.deadline()
	r.mu.Unlock()
	switch {
	case taken >= raftRequestMax:
		return 0, errRequestTooLarge
	case !waits:
		return raftRequestMax - taken, nil
	case taken < raftSmallRequest:
		return raftSmallRequest - taken, nil
	}
	ctx, cancel := context.WithDeadline(r.ctx, until)
	defer cancel()
	select {
	case r.large <- struct{}{}:
	case <-ctx.Done():
		return 0, fmt.Errorf("grid: other large Raft requests take too long: %w", ctx.Err())
	}
	leave := func() { <-r.large }
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		leave()
		return 0, net.ErrClosed
	}
	r.leave = leave
	return raftRequestMax - taken, nil
}

// begins checks the first byte of a request: who was a member when the stream was opened may
// not be one any longer.
func (r *raftServed) begins(kind byte) error {
	r.mu.Lock()
	taken := r.taken
	r.mu.Unlock()
	if taken > 0 {
		return nil
	}
	return r.authorize(kind)
}

// count notes bytes of a request that have come.
func (r *raftServed) count(b []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken == 0 {
		r.began = time.Now()
	}
	r.taken += len(b)
	_ = r.SetReadDeadline(r.deadline())
	return r.shape.feed(b)
}

// deadline returns the time by which the request must have arrived. The caller holds mu.
func (r *raftServed) deadline() time.Time {
	return r.began.Add(raftRequestTimeout + time.Duration(r.taken/raftPace)*RaftCallTimeout)
}

// Write implements net.Conn: it answers the request.
func (r *raftServed) Write(b []byte) (int, error) {
	r.end(false)
	_ = r.SetReadDeadline(time.Time{})
	return r.Conn.Write(b)
}

func (r *raftServed) Close() error {
	r.end(true)
	if r.broken != nil && r.ctx.Err() == nil {
		r.broken()
	}
	return r.Conn.Close()
}

func (r *raftServed) end(closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = closed
	r.taken, r.shape = 0, raftShape{}
	if r.leave != nil {
		r.leave()
		r.leave = nil
	}
}
