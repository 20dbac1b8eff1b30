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
	handshakeShare = 1.0 / 32
	// handshakeAhead is the time of whose share they may take in a burst, some dozen handshakes: after a
	// lull, more of them together would delay all other work of some tenths of a second.
	handshakeAhead = 250 * time.Millisecond
	// burstTimes is how many times the share they may have in the short run, and burstAhead the
	// time of whose share they may take in advance: a crowd of strangers, whose handshakes come to the
	// same point together, does not keep the processors from all other work for long.
	burstTimes = 2
	burstAhead = 40 * time.Millisecond
	// stretchMax bounds what one stretch counts for. Where the processor time of a thread is not known, one
	// that had to wait for a processor would count the wait too.
	stretchMax = 2 * time.Millisecond
	// farewell is how many bytes the last words of a caller have at most: an alert, which says why it
	// leaves. A certificate has more.
	farewell = 64
)

// Beyond their share, handshakes have idle processors alone, so that thousands of clients that come
// together in a lull are all greeted soon. While some wait, a timer looks from time to time whether
// processors are idle: it comes late if they are not, as requests would.
const (
	// lullTurns is how many turns are given when the timer comes in time, that is not more than
	// lullLate late.
	lullTurns = 2
	lullLate  = 250 * time.Microsecond
	// lullLeast and lullMost bound the pause before the next look. It halves each time that the timer
	// comes in time, and is the longest again when it comes late.
	lullLeast = time.Millisecond
	lullMost  = 16 * time.Millisecond
)

// handshakeTurns gives handshakes their turns to compute. Addresses have turns in rotation, so
// that one with thousands of connections delays no other one; of an address the newest comes
// first, since the oldest are those whose other side is most likely to have given up.
type handshakeTurns struct {
	atOnce int           // how many may compute
	share  float64       // processors that they may have in the long run
	late   time.Duration // by how much a timer may come late in a lull, lullLate

	mu      sync.Mutex // guards what follows
	running int
	paid    time.Time // until when what they have taken is their share
	burst   time.Time // likewise in the short run
	waiting map[string][]*handshakeTurn
	order   []string // the addresses that wait, the next one first
	timer   *time.Timer
	pause   time.Duration // before it looks for a lull again
	free    int           // turns beyond the share that may begin
}

// handshakeTurn is one that waits, or has begun.
type handshakeTurn struct {
	begins chan struct{}
	free   bool // beyond the share
}

func newHandshakeTurns() *handshakeTurns {
	processors := runtime.GOMAXPROCS(0)
	return &handshakeTurns{atOnce: max(1, processors/2), share: float64(processors) * handshakeShare, late: lullLate, pause: lullMost, waiting: map[string][]*handshakeTurn{}}
}

// enter waits for a turn, and returns nil if gone is closed before.
func (t *handshakeTurns) enter(from string, gone <-chan struct{}) *handshakeTurn {
	mine := &handshakeTurn{begins: make(chan struct{})}
	t.mu.Lock()
	if len(t.waiting[from]) == 0 {
		t.order = append(t.order, from)
	}
	t.waiting[from] = append(t.waiting[from], mine)
	t.give()
	t.mu.Unlock()
	select {
	case <-mine.begins:
		return mine
	case <-gone:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.forget(from, mine) { // it has begun meanwhile
		t.running--
		t.give()
	}
	return nil
}

// leave ends a turn that took some processor time.
func (t *handshakeTurns) leave(turn *handshakeTurn, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	if !turn.free {
		now, cost := time.Now(), float64(min(took, stretchMax))/t.share
		t.paid = later(t.paid, now).Add(time.Duration(cost))
		t.burst = later(t.burst, now).Add(time.Duration(cost / burstTimes))
	}
	t.give()
}

// give begins the turns for which there is room. The caller holds mu.
func (t *handshakeTurns) give() {
	for t.running < t.atOnce && len(t.order) > 0 {
		wait := time.Until(later(t.paid.Add(-handshakeAhead), t.burst.Add(-burstAhead)))
		if wait > 0 && t.free == 0 {
			t.giveLater(wait)
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
		if next.free = wait > 0; next.free {
			t.free--
		}
		t.running++
		close(next.begins)
	}
}

// giveLater gives turns when a time has passed, or in a lull before. The caller holds mu.
func (t *handshakeTurns) giveLater(wait time.Duration) {
	if t.timer != nil {
		return
	}
	due := time.Now().Add(min(wait, t.pause))
	t.timer = time.AfterFunc(time.Until(due), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.timer = nil
		if time.Since(due) <= t.late {
			t.free, t.pause = lullTurns, max(t.pause/2, lullLeast)
		} else {
			t.free, t.pause = 0, lullMost
		}
		t.give()
	})
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
// whose other side has given up needs none, but for its last words: clients that came in thousands and left would take
// the share of handshakes until each of theirs had been computed.
type turnConn struct {
	net.Conn
	turns *handshakeTurns // nil after the handshake
	from  string
	gone  <-chan struct{} // closed when the connection is
	turn  *handshakeTurn  // nil for none
	part  *stretch        // of the turn
	begun bool            // it has had a turn
}

// leave ends the turn, if there is one.
func (c *turnConn) leave() {
	if c.turn != nil {
		c.turns.leave(c.turn, c.part.end())
		c.turn = nil
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
	if c.hasLeft(n) {
		return 0, net.ErrClosed
	}
	if c.turn = c.turns.enter(c.from, c.gone); c.turn == nil {
		return 0, net.ErrClosed
	}
	c.part = beginStretch()
	if c.hasLeft(n) { // while it waited
		return 0, net.ErrClosed
	}
	c.begun = true
	return n, nil
}

// hasLeft reports whether the other side has ended the connection, and the bytes read from it are
// not worth a turn: all but a few in the middle of the handshake, which say why it left.
func (c *turnConn) hasLeft(bytes int) bool {
	return acceptor.Ended(c.Conn) && (!c.begun || bytes > farewell)
}
