package api

import (
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
)

// Processor time of TLS handshakes. One costs as much as dozens of requests, so callers that do
// nothing but connect could keep a member from its work.
const (
	// handshakeShare is the part of the processors that handshakes may have in the long run.
	handshakeShare = 1.0 / 16
	// handshakeAhead is the time of whose share they may take in a burst, some dozen handshakes: after a
	// lull, more of them together would delay all other work of some tenths of a second.
	handshakeAhead = 250 * time.Millisecond
	// burstTimes is how many times the share they may have in the short run, and burstAhead the
	// time of whose share they may take in advance: a crowd of strangers, whose handshakes come to the
	// same point together, does not keep the processors from all other work for long.
	burstTimes = 2
	burstAhead = 20 * time.Millisecond
	// stretchMax bounds what one stretch counts for. A process that has to wait for a processor
	// itself would count that too.
	stretchMax = 2 * time.Millisecond
)

// handshakeTurns gives handshakes their turns to compute. Addresses have turns in rotation, so
// that one with thousands of connections delays no other one; of an address the newest comes
// first, since the oldest are those whose other side is most likely to have given up.
type handshakeTurns struct {
	atOnce int     // how many may compute
	share  float64 // processors that they may have in the long run

	mu      sync.Mutex // guards what follows
	running int
	paid    time.Time // until when what they have taken is their share
	burst   time.Time // likewise in the short run
	waiting map[string][]*handshakeTurn
	order   []string // the addresses that wait, the next one first
	timer   *time.Timer
}

// handshakeTurn is one that waits.
type handshakeTurn struct{ begins chan struct{} }

func newHandshakeTurns() *handshakeTurns {
	processors := runtime.GOMAXPROCS(0)
	return &handshakeTurns{atOnce: max(1, processors/2), share: float64(processors) * handshakeShare, waiting: map[string][]*handshakeTurn{}}
}

// enter waits for a turn, and reports false if gone is closed before.
func (t *handshakeTurns) enter(from string, gone <-chan struct{}) bool {
	mine := &handshakeTurn{make(chan struct{})}
	t.mu.Lock()
	if len(t.waiting[from]) == 0 {
		t.order = append(t.order, from)
	}
	t.waiting[from] = append(t.waiting[from], mine)
	t.give()
	t.mu.Unlock()
	select {
	case <-mine.begins:
		return true
	case <-gone:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.forget(from, mine) { // it has begun meanwhile
		t.running--
		t.give()
	}
	return false
}

// leave ends a turn that took some time.
func (t *handshakeTurns) leave(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	now, cost := time.Now(), float64(min(took, stretchMax))/t.share
	t.paid = later(t.paid, now).Add(time.Duration(cost))
	t.burst = later(t.burst, now).Add(time.Duration(cost / burstTimes))
	t.give()
}

// give begins the turns for which there is room. The caller holds mu.
func (t *handshakeTurns) give() {
	for t.running < t.atOnce && len(t.order) > 0 {
		if wait := time.Until(later(t.paid.Add(-handshakeAhead), t.burst.Add(-burstAhead))); wait > 0 {
			if t.timer != nil {
				t.timer.Stop()
			}
			t.timer = time.AfterFunc(wait, func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.give()
			})
			return
		}
		from := t.order[0]
		t.order = t.order[1:]
		all := t.waiting[from]
		next := all[len(all)-1]
		if all = all[:len(all)-1]; len(all) > 0 {
			t.waiting[from] = all
			t.order = append(t.order, from)
		} else {
			delete(t.waiting, from)
		}
		t.running++
		close(next.begins)
	}
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// forget removes one that waits, and reports whether it did. The caller holds mu.
func (t *handshakeTurns) forget(from string, mine *handshakeTurn) bool {
	all := t.waiting[from]
	i := slices.Index(all, mine)
	if i < 0 {
		return false
	}
	if all = slices.Delete(all, i, i+1); len(all) > 0 {
		t.waiting[from] = all
		return true
	}
	delete(t.waiting, from)
	t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == from })
	return true
}

// turnConn is a connection in its TLS handshake, which computes only in its turn: from when it
// has read something until it reads again. One that waits for its other side has no turn, and one
// whose other side has given up needs none: clients that came in thousands and left would take
// the share of handshakes until each of theirs had been computed.
type turnConn struct {
	net.Conn
	turns *handshakeTurns // nil after the handshake
	from  string
	gone  <-chan struct{} // closed when the connection is
	since time.Time       // of its turn, zero for none
}

// leave ends the turn, if there is one.
func (c *turnConn) leave() {
	if !c.since.IsZero() {
		c.turns.leave(time.Since(c.since))
		c.since = time.Time{}
	}
}

// end ends the turns of the connection.
func (c *turnConn) end() {
	c.leave()
	c.turns = nil
}

// Read implements net.Conn.
func (c *turnConn) Read(b []byte) (int, error) {
	if c.turns == nil {
		return c.Conn.Read(b)
	}
	c.leave()
	n, err := c.Conn.Read(b)
	if err != nil {
		return n, err
	}
	if acceptor.Ended(c.Conn) || !c.turns.enter(c.from, c.gone) {
		return 0, net.ErrClosed
	}
	c.since = time.Now()
	if acceptor.Ended(c.Conn) { // while it waited
		return 0, net.ErrClosed
	}
	return n, nil
}
