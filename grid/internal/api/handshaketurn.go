package api

import (
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
)

// Processor time for TLS handshakes. One costs as much as dozens of requests, so callers that only
// connect could starve a member.
const (
	// handshakeShare is the part of the processors that handshakes may have in the long run.
	handshakeShare = 1.0 / 32
	// handshakeAhead bounds a burst to the share of this period, some dozen handshakes: after a lull, a
	// larger burst would delay all other work by tenths of a second.
	handshakeAhead = 250 * time.Millisecond
	// burstTimes multiplies the share in the short run, and burstAhead bounds its advance: many handshakes
	// that reach the same point together do not block all other work for long.
	burstTimes = 2
	burstAhead = 40 * time.Millisecond
	// stretchMax bounds the charge for one stretch. Where thread CPU time is unavailable, waiting for a
	// processor would be charged too.
	stretchMax = 2 * time.Millisecond
	// farewell bounds the final bytes from a leaving caller: an alert with the reason. A certificate is
	// larger.
	farewell = 64
)

// Beyond their share, handshakes have idle processors alone, so that thousands of clients that come
// together in a lull are all greeted soon. While some wait, a timer looks from time to time whether
// processors are idle: it comes late if they are not, as requests would.
const (
	// lullTurns is the number of turns given if the timer fires in time: at most lullLate late.
	lullTurns = 2
	lullLate  = 250 * time.Microsecond
	// lullLeast and lullMost bound the pause before the next look. It halves each time that the timer
	// comes in time, and is the longest again when it comes late.
	lullLeast = time.Millisecond
	lullMost  = 16 * time.Millisecond
)

// handshakeTurns schedules the computation in handshakes. Addresses rotate, so that one address with
// thousands of connections delays no other; within an address the newest comes first, since the oldest
// have most likely been given up by the other side.
type handshakeTurns struct {
	atOnce int           // how many may compute
	share  float64       // processors that they may have in the long run
	late   time.Duration // by how much a timer may come late in a lull, lullLate

	mu      sync.Mutex // guards the fields below
	running int
	paid    time.Time        // end of the time already charged
	burst   time.Time        // likewise in the short run
	waiting []*handshakeTurn // at most handshakesMax; the first has the next address
	timer   *time.Timer
	pause   time.Duration // before it looks for a lull again
	free    int           // turns beyond the share that may begin
}

type handshakeTurn struct {
	from   string
	begins chan struct{}
	free   bool // beyond the share
}

func newHandshakeTurns() *handshakeTurns {
	processors := runtime.GOMAXPROCS(0)
	return &handshakeTurns{atOnce: max(1, processors/2), share: float64(processors) * handshakeShare, late: lullLate,
		pause: lullMost}
}

// enter waits for a turn, and returns nil if gone is closed before.
func (t *handshakeTurns) enter(from string, gone <-chan struct{}) *handshakeTurn {
	mine := &handshakeTurn{from: from, begins: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, mine)
	t.give()
	t.mu.Unlock()
	select {
	case <-mine.begins:
		return mine
	case <-gone:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, mine); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	} else { // it has begun since
		t.running--
		t.give()
	}
	return nil
}

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
	for t.running < t.atOnce && len(t.waiting) > 0 {
		wait := time.Until(later(t.paid.Add(-handshakeAhead), t.burst.Add(-burstAhead)))
		if wait > 0 && t.free == 0 {
			t.giveLater(wait)
			return
		}
		next := t.take()
		if next.free = wait > 0; next.free {
			t.free--
		}
		t.running++
		close(next.begins)
	}
}

// take removes the newest turn of the next address, whose others come after all other addresses. The caller holds mu.
func (t *handshakeTurns) take() (next *handshakeTurn) {
	var same []*handshakeTurn
	from := t.waiting[0].from
	t.waiting = slices.DeleteFunc(t.waiting, func(w *handshakeTurn) bool {
		if w.from == from {
			same = append(same, w)
		}
		return w.from == from
	})
	last := len(same) - 1
	t.waiting = append(t.waiting, same[:last]...)
	return same[last]
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

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// turnConn is a connection in its TLS handshake that computes only in its turn: from the end of a read
// to the next read. A connection that waits for its peer has no turn. One abandoned by its peer needs
// none, except for the final bytes: otherwise thousands of clients that connected and left would take
// the handshakes' share until each was computed.
type turnConn struct {
	net.Conn
	turns *handshakeTurns // nil after the handshake
	from  string
	gone  <-chan struct{} // closed when the connection is
	turn  *handshakeTurn  // nil for none
	part  *stretch        // of the turn
	begun bool            // it has had a turn
}

func (c *turnConn) leave() {
	if c.turn != nil {
		c.turns.leave(c.turn, c.part.end())
		c.turn = nil
	}
}

func (c *turnConn) end() {
	c.leave()
	c.turns = nil
}

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

// hasLeft reports whether the other side ended the connection and the bytes read need no turn:
// anything but a few bytes in mid-handshake, which give the reason.
func (c *turnConn) hasLeft(bytes int) bool {
	return acceptor.Ended(c.Conn) && (!c.begun || bytes > farewell)
}
