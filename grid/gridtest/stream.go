package gridtest

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// link is one stream: two ends, and the data in transit between them. It never takes the
// network's lock while it has its own.
type link struct {
	net *Network

	mu      sync.Mutex
	faults  faults
	ends    [2]end // index i also names the direction from end i; hosts and addresses never change
	changed chan struct{}
}

type end struct {
	host *Host
	addr *net.TCPAddr

	flight []segment // sent from here and not yet arrived there
	unread int       // bytes sent from here that the other side has not read

	inbox    [][]byte // arrived here and not yet read
	ended    bool     // the other side's end of data has arrived
	reset    bool     // the other side's reset has arrived
	closed   bool     // by this side
	finished bool     // this side has sent its end of data or a reset
	readBy   time.Time
	writeBy  time.Time
}

type segment struct {
	at   time.Time
	kind segmentKind
	data []byte
}

type segmentKind int

const (
	dataSegment segmentKind = iota
	endSegment
	resetSegment
)

// wake must be called with mu held.
func (l *link) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *link) setFaults(f faults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = f
	l.settle()
	l.wake()
}

func (l *link) arrive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
}

// send puts a segment on its way from end i. It must be called with mu held.
func (l *link) send(i int, s segment) {
	e := &l.ends[i]
	s.at = time.Now().Add(l.faults.delay)
	e.flight = append(e.flight, s)
}

// settle lets everything arrive that is due. It must be called with mu held.
func (l *link) settle() {
	now := time.Now()
	moved := false
	for again := true; again; {
		again = false
		for i := range l.ends {
			e := &l.ends[i]
			for l.faults.open[i] && len(e.flight) > 0 && !e.flight[0].at.After(now) {
				s := e.flight[0]
				e.flight = e.flight[1:]
				l.receive(1-i, s)
				again, moved = true, true
			}
		}
	}
	if moved {
		l.wake()
	}
}

// receive takes a segment in at end i. Data for an end that has closed is
// answered by a reset.
func (l *link) receive(i int, s segment) {
	here, there := &l.ends[i], &l.ends[1-i]
	switch s.kind {
	case endSegment:
		here.ended = true
	case resetSegment:
		here.reset = true
	case dataSegment:
		if !here.closed {
			here.inbox = append(here.inbox, s.data)
			return
		}
		there.unread -= len(s.data)
		if !here.reset {
			l.send(i, segment{kind: resetSegment})
		}
	}
}

// close ends the stream at end i: with a reset if abrupt or if anything that
// arrived was never read, as TCP does. It reports whether it was open.
func (l *link) close(i int, abrupt bool) (open, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	here, there := &l.ends[i], &l.ends[1-i]
	if here.closed {
		return false, false
	}
	here.closed = true
	if abrupt || len(here.inbox) > 0 {
		l.send(i, segment{kind: resetSegment})
	} else if !here.finished {
		l.send(i, segment{kind: endSegment})
	}
	here.finished = true
	for _, data := range here.inbox {
		there.unread -= len(data)
	}
	here.inbox = nil
	l.settle()
	l.wake()
	return true, there.closed
}

// next returns the time of the next arrival. It must be called with mu held.
func (l *link) next() time.Time {
	var at [2]time.Time
	for i := range l.ends {
		if flight := l.ends[i].flight; l.faults.open[i] && len(flight) > 0 {
			at[i] = flight[0].at
		}
	}
	return earliest(at[:]...)
}

// conn is one end of a link.
type conn struct {
	link *link
	end  int
}

var _ net.Conn = (*conn)(nil)

func (c *conn) Read(b []byte) (int, error) {
	for {
		n, until, err := c.tryRead(b)
		if n > 0 || err != nil || len(b) == 0 {
			return n, c.wrap("read", err)
		}
		until.wait(nil)
	}
}

func (c *conn) tryRead(b []byte) (int, moment, error) {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	here, there := &l.ends[c.end], &l.ends[1-c.end]
	switch {
	case here.closed:
		return 0, moment{}, net.ErrClosed
	case passed(here.readBy):
		return 0, moment{}, os.ErrDeadlineExceeded
	case len(b) == 0:
		return 0, moment{}, nil
	case len(here.inbox) > 0:
		n := 0
		for n < len(b) && len(here.inbox) > 0 {
			k := copy(b[n:], here.inbox[0])
			n += k
			if here.inbox[0] = here.inbox[0][k:]; len(here.inbox[0]) == 0 {
				here.inbox = here.inbox[1:]
			}
		}
		there.unread -= n
		l.wake()
		return n, moment{}, nil
	case here.ended:
		return 0, moment{}, io.EOF
	case here.reset:
		return 0, moment{}, syscall.ECONNRESET
	}
	return 0, moment{l.changed, earliest(l.next(), here.readBy)}, nil
}

func (c *conn) Write(b []byte) (int, error) {
	written := 0
	for {
		n, until, err := c.tryWrite(b[written:])
		written += n
		if err != nil || written == len(b) {
			return written, c.wrap("write", err)
		}
		if n == 0 {
			until.wait(nil)
		}
	}
}

func (c *conn) tryWrite(b []byte) (int, moment, error) {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	here := &l.ends[c.end]
	switch {
	case here.closed:
		return 0, moment{}, net.ErrClosed
	case passed(here.writeBy):
		return 0, moment{}, os.ErrDeadlineExceeded
	case here.reset:
		return 0, moment{}, syscall.ECONNRESET
	case here.finished:
		return 0, moment{}, syscall.EPIPE
	}
	n := min(len(b), streamBuffer-here.unread)
	if n > 0 {
		here.unread += n
		l.send(c.end, segment{data: slices.Clone(b[:n])})
		l.settle()
		l.wake()
	}
	return n, moment{l.changed, earliest(l.next(), here.writeBy)}, nil
}

// CloseWrite signals the end of the stream to the other side.
func (c *conn) CloseWrite() error {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	here := &l.ends[c.end]
	if here.closed {
		return c.wrap("close", net.ErrClosed)
	}
	if !here.finished {
		here.finished = true
		l.send(c.end, segment{kind: endSegment})
		l.settle()
		l.wake()
	}
	return nil
}

func (c *conn) Close() error {
	open, done := c.link.close(c.end, false)
	if done {
		c.link.net.forget(c.link)
	}
	if !open {
		return c.wrap("close", net.ErrClosed)
	}
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.link.ends[c.end].addr }
func (c *conn) RemoteAddr() net.Addr { return c.link.ends[1-c.end].addr }

func (c *conn) SetDeadline(t time.Time) error      { return c.setDeadlines(&t, &t) }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.setDeadlines(&t, nil) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(nil, &t) }

func (c *conn) setDeadlines(read, write *time.Time) error {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	here := &l.ends[c.end]
	if here.closed {
		return c.wrap("set", net.ErrClosed)
	}
	if read != nil {
		here.readBy = *read
	}
	if write != nil {
		here.writeBy = *write
	}
	l.wake()
	return nil
}

// wrap gives an error the form it has on a real stream.
func (c *conn) wrap(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}
