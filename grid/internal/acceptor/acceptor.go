// Package acceptor accepts streams and performs each handshake in its own goroutine, so that a silent
// peer delays no other one. No connection waits in the system's backlog, and unfinished handshakes are
// bounded.
package acceptor

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Usual [Config] values.
const (
	// Timeout bounds a new stream's handshake.
	Timeout = 2 * time.Second
	// Handshakes limits accepted streams with an unfinished handshake.
	Handshakes = 128
)

// Rate and burst of handshakes that may displace an unfinished one. A flood of silent streams would
// cost a goroutine and a handshake's computation each.
const (
	displacedPerSecond = 100
	displacedAtOnce    = 64
	// fewOf is the fraction of places below which an address has few. It may always displace a
	// handshake from an address that has more.
	fewOf = 16
	// slowOf is the fraction of its time after which a handshake is slow. Other handshakes are left
	// to end: if thousands of honest peers come together, each that displaced another one would
	// make that one return, and none would finish.
	slowOf = 10
)

// delayMax is the longest pause after an Accept error, for instance when the process is out of file
// descriptors.
const delayMax = time.Second

// Config has an acceptor's handshake and limits.
type Config struct {
	// Greet gets a stream and returns the one to hand out. When the time for it is over, reads
	// and writes of the stream fail. After an error the stream is closed without an answer.
	Greet   func(net.Conn) (net.Conn, error)
	Timeout time.Duration // for Greet, without the time in which this process did not run
	// Handshakes limits unfinished streams, and PerAddress those from one address; one more drops the oldest,
	// from the same address if that has too many.
	Handshakes, PerAddress int
	// Wait keeps finished streams until they are taken. Without it, they are closed when Handshakes
	// of them have not been taken.
	Wait bool
	// Failed, if not nil, is called with the reason that a stream was not accepted: the process may be out of
	// file descriptors. It must not block.
	Failed func(error)
}

// Acceptor delivers finished streams through Streams.
//
// When too many are unfinished the newest replaces the oldest, if that is slow: a process that
// opens streams and stays silent has to do so faster than an honest peer finishes its handshake.
// That happens at most displacedPerSecond times a second. Further streams wait, see waiting.
type Acceptor struct {
	Streams chan net.Conn

	cfg   Config
	ln    net.Listener
	done  chan struct{}
	group sync.WaitGroup
	// displacing limits the handshakes that take another one's place.
	displacing *rate.Limiter

	mu      sync.Mutex
	closed  bool           // guarded by mu
	pending []handshake    // unfinished, oldest first; guarded by mu
	of      map[string]int // unfinished by address; guarded by mu
	dropped uint64         // guarded by mu
	waiting waiting        // guarded by mu
	expires bool           // expire is due; guarded by mu
	ran     time.Duration  // in which this process ran, while expire was due; guarded by mu
	looked  time.Time      // when expire added to it; guarded by mu
}

// handshake is a stream that is unfinished.
type handshake struct {
	conn  net.Conn
	from  string
	since time.Duration // as measured by ran
	over  bool          // its time is
}

// New starts accepting on ln.
func New(ln net.Listener, cfg Config) *Acceptor {
	if cfg.PerAddress == 0 {
		cfg.PerAddress = cfg.Handshakes
	}
	a := &Acceptor{Streams: make(chan net.Conn, cfg.Handshakes), cfg: cfg, ln: ln, done: make(chan struct{}),
		of: map[string]int{}, displacing: rate.NewLimiter(displacedPerSecond, displacedAtOnce)}
	a.waiting.max = waitingMax()
	if cfg.Wait {
		a.Streams = make(chan net.Conn)
	}
	a.group.Go(a.accept)
	return a
}

// Done is closed when the acceptor is.
func (a *Acceptor) Done() <-chan struct{} { return a.done }

// Dropped returns how many streams were dropped because too many were unfinished.
func (a *Acceptor) Dropped() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dropped
}

// Close ends the listener, every unfinished handshake and all goroutines. It
// may be called more than once.
func (a *Acceptor) Close() {
	a.mu.Lock()
	first, pending := !a.closed, a.pending
	a.closed, a.pending = true, nil
	clear(a.of)
	waiting := a.waiting.empty()
	a.mu.Unlock()
	for _, conn := range waiting {
		_ = conn.Close()
	}
	if first {
		close(a.done)
		_ = a.ln.Close()
	}
	for _, h := range pending {
		_ = h.conn.Close()
	}
	a.group.Wait()
	for {
		select {
		case conn := <-a.Streams:
			_ = conn.Close()
		default:
			return
		}
	}
}

func (a *Acceptor) accept() {
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
			if a.cfg.Failed != nil {
				a.cfg.Failed(err)
			}
			delay = min(max(2*delay, 5*time.Millisecond), delayMax)
			select {
			case <-a.done:
				return
			case <-time.After(delay):
			}
		}
	}
}

// admit starts a handshake, or lets the stream wait for a place.
func (a *Acceptor) admit(conn net.Conn) {
	from := Host(conn.RemoteAddr())
	drop := conn
	a.mu.Lock()
	switch {
	case a.closed:
	case a.of[from] < a.cfg.PerAddress && len(a.pending) < a.cfg.Handshakes:
		drop = nil
		a.start(conn, from)
	default:
		if i := a.displaced(from); i >= 0 {
			drop = a.remove(i)
			a.start(conn, from)
		} else {
			a.expireLater()
			drop = a.waiting.add(waiter{conn, a.ran}, from)
		}
		if drop != nil {
			a.dropped++
		}
	}
	a.mu.Unlock()
	if drop != nil {
		_ = drop.Close()
	}
}

// start starts a handshake. The caller holds mu, and the acceptor is not closed.
func (a *Acceptor) start(conn net.Conn, from string) {
	a.expireLater()
	a.pending = append(a.pending, handshake{conn: conn, from: from, since: a.ran})
	a.of[from]++
	a.group.Go(func() { a.handshake(conn) })
}

// displaced returns the index of the handshake that a new one from an address replaces now, -1 for
// none. The caller holds mu.
func (a *Acceptor) displaced(from string) int {
	own := a.of[from] >= a.cfg.PerAddress
	i := slices.IndexFunc(a.pending, func(h handshake) bool {
		if own {
			return h.from == from
		}
		return a.of[h.from] > a.few()
	})
	if i >= 0 && a.of[from] < a.few() {
		return i
	}
	i = max(i, 0) // there are many addresses with few
	if a.ran-a.pending[i].since < a.cfg.Timeout/slowOf || !a.displacing.Allow() {
		return -1
	}
	return i
}

// few returns the bound below which an address has few handshakes.
func (a *Acceptor) few() int { return a.cfg.Handshakes / fewOf }

// makeRoom lets waiting streams, from addresses with few handshakes, displace others as if they had
// just arrived, and returns the displaced. The caller holds mu.
func (a *Acceptor) makeRoom() (displaced []net.Conn) {
	for a.waiting.count > 0 && len(a.pending) > 0 {
		from := a.waiting.next(a.of, a.cfg.PerAddress)
		if from == "" || a.of[from] >= a.few() {
			return displaced
		}
		i := a.displaced(from)
		if i < 0 {
			return displaced
		}
		displaced = append(displaced, a.remove(i))
		a.start(a.waiting.take(from), from)
	}
	return displaced
}

// remove removes an unfinished handshake. The caller holds mu.
func (a *Acceptor) remove(i int) net.Conn {
	h := a.pending[i]
	a.pending = slices.Delete(a.pending, i, i+1)
	if a.of[h.from]--; a.of[h.from] == 0 {
		delete(a.of, h.from)
	}
	return h.conn
}

func (a *Acceptor) handshake(conn net.Conn) {
	stream, err := a.cfg.Greet(conn)
	kept := a.finish(conn)
	if err != nil || !kept {
		if stream != nil {
			_ = stream.Close()
		}
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if a.cfg.Wait {
		select {
		case a.Streams <- stream:
		case <-a.done:
			_ = stream.Close()
		}
		return
	}
	select {
	case a.Streams <- stream:
	default: // streams are no longer taken, or far too slowly
		_ = stream.Close()
	}
}

// finish reports whether conn is still needed: neither dropped nor closed.
func (a *Acceptor) finish(conn net.Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.pending, func(h handshake) bool { return h.conn == conn })
	if i < 0 {
		return false
	}
	a.remove(i)
	if a.closed {
		return true
	}
	if from := a.waiting.next(a.of, a.cfg.PerAddress); from != "" {
		a.start(a.waiting.take(from), from)
	}
	return true
}

// expireLater has expire called soon, unless it is due already. The caller holds mu.
func (a *Acceptor) expireLater() {
	if !a.expires {
		a.expires, a.looked = true, time.Now()
		time.AfterFunc(a.cfg.Timeout/expiries, a.expire)
	}
}

// expire ends overdue handshakes, closes streams that have waited too long, and lets others
// displace slow handshakes. A process that was stopped or had no processor has delayed its peers
// itself: at most two call periods of a long pause count.
func (a *Acceptor) expire() {
	const most = 2
	a.mu.Lock()
	now, period := time.Now(), a.cfg.Timeout/expiries
	a.ran += min(now.Sub(a.looked), most*period)
	for i := range a.pending {
		if h := &a.pending[i]; !h.over && a.ran-h.since >= a.cfg.Timeout {
			h.over = true
			_ = h.conn.SetDeadline(now)
		}
	}
	gone := a.waiting.before(a.ran - WaitTimes*a.cfg.Timeout)
	dropped := a.makeRoom()
	gone = append(gone, dropped...)
	a.dropped += uint64(len(gone))
	a.expires = false
	if a.waiting.count > 0 || len(a.pending) > 0 {
		a.expireLater()
	}
	a.mu.Unlock()
	for _, conn := range gone {
		_ = conn.Close()
	}
}

// Host returns an address's host: without its port, if it has one.
func Host(addr net.Addr) string {
	if host, _, err := net.SplitHostPort(addr.String()); err == nil {
		return host
	}
	return addr.String()
}
