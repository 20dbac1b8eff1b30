// Package frames implements a connection between two Go processes that carries calls and event
// streams as frames (package internal/wire/frame). [Serve] is the member's end, [Client] the
// caller's.
//
//	caller                                   member
//	Client.Do    --> queue --> connection --> reader --> Quick, or parked goroutine --> Handler
//	Client.Start <-- reader <- connection <-- queue <--  Request.Answer, or Writer <---/
//	Client.Open  <-- reader <- connection <- queue <--  Request.Push
//
// Frames that are ready together are written together, by a goroutine that ends afterwards. The
// reader serves a request that needs no wait ([Quick]), and any goroutine may send its answer, or
// an event stream's parts: a holder that waits for events costs neither end a goroutine, apart from
// the two that read the connection. Every other request has a goroutine, so none waits behind a
// slow one; goroutines are parked after a request and used again, because a new one has to grow its
// stack. Deadlines for requests and calls share one timer per connection. Bounds, for each end of a
// connection:
//
//   - the queue of unwritten frames has a limit; writers wait, and so does the reader, which
//     answers pings: a peer that reads nothing is no longer read;
//   - a member serves at most [StreamsMax] requests and streams per connection;
//   - at most frame.Inline bytes of a body are read before the handler requests more;
//   - half a frame, or a write that does not end, ends the connection (see watch);
//   - a peer that is silent while a request waits for it is pinged, and the connection ended
//     without an answer; connections without calls end.
package frames

import (
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

const (
	// StreamsMax bounds the requests and streams that a member serves on one connection.
	StreamsMax = 64
	// queueMax is the number of unwritten bytes above which writers wait.
	queueMax = 64 << 10
	// queueKept is the memory that an empty queue keeps, if it needed more than queueSmall: most
	// connections have a frame now and then.
	queueKept  = 4 << 10
	queueSmall = 512
	// period is the interval between checks of a connection.
	period = 5 * time.Second
	// stuckPeriods is the number of periods that a frame or a write may take, and silentPeriods the
	// number for which a peer may be silent: its process may get little CPU time, and opening a new
	// connection costs it more. The kernel detects a broken path in seconds.
	stuckPeriods  = 2
	silentPeriods = 12
	// A caller closes a connection that had no call for callerIdle periods, a member later, so
	// that it seldom closes one on which a call begins.
	callerIdle = 2
	memberIdle = 4
)

// ErrEnded is part of the error from each call on a connection that has ended.
var ErrEnded = errors.New("frames: the connection has ended")

// ErrNotSent is part of the error from a call that was not sent, not even in part.
var ErrNotSent = errors.New("frames: the call was not sent")

// link is the common part of both ends: the frame queue, and the connection's checks.
type link struct {
	conn   net.Conn
	in     *reader
	writer func(func()) // runs a function in a goroutine
	inline bool         // who adds a frame may write it, however long that takes
	idle   int          // periods without calls after which the connection ends

	mu          sync.Mutex    // guards the fields below; never held while waiting
	out, spare  []byte        // frames to write, and memory for the next
	writing     bool          // out is being written
	scheduled   bool          // ... or will be soon
	batch       bool          // the reader writes when it has served all that it has read
	room        chan struct{} // closed when out was taken; nil if no writer waits
	err         error         // why it ended
	done        chan struct{}
	timer       *time.Timer
	flushes     uint64
	lastFlushes uint64
	stuckWrite  int

	taken   int           // the last frame's bytes, which are still in the buffer of in
	frames  atomic.Uint64 // read
	partial atomic.Bool   // a frame has begun to arrive
	begun   atomic.Uint64 // exchanges
	open    atomic.Int64  // exchanges
	last    struct {      // used by watch alone
		frames, begun             uint64
		silent, stuckRead, unused int
	}
}

func newLink(conn net.Conn, in io.Reader, writer func(func()), inline bool, idle int) *link {
	l := &link{conn: conn, in: newReader(in), writer: writer, inline: inline, idle: idle, done: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(period, l.watch)
	return l
}

// end ends the connection; the first reason counts.
func (l *link) end(err error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = failure.Errorf(ErrEnded, "%w", err)
	l.timer.Stop()
	close(l.done)
	l.mu.Unlock()
	_ = l.conn.Close()
}

// reason returns why the connection ended.
func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// append adds a frame to the queue. queued, if not nil, is called then, before any part is written; it must not wait.
// mu must be held.
func (l *link) append(h frame.Header, head, body []byte, queued func()) {
	h.Length = uint32(len(head) + len(body))
	l.out = slices.Grow(l.out, frame.HeaderSize+len(head)+len(body))
	l.out = append(append(frame.AppendHeader(l.out, h), head...), body...)
	if queued != nil {
		queued()
	}
}

// offer adds a frame without a payload, unless the queue is full.
func (l *link) offer(h frame.Header) { l.put(h, nil, nil, nil, false) }

func (l *link) hasRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.out) < queueMax
}

// force adds a frame to the queue even if that is full, and has it written by another goroutine.
// It never waits. Its callers are bounded: there is one frame for each exchange.
func (l *link) force(h frame.Header, head, body []byte, queued func()) {
	l.put(h, head, body, queued, true)
}

// push is force for numerous frames: it reports false, and adds nothing, if the queue is full or
// the connection has ended.
func (l *link) push(h frame.Header, body []byte) bool {
	return l.put(h, nil, body, nil, false)
}

func (l *link) put(h frame.Header, head, body []byte, queued func(), beyond bool) bool {
	l.mu.Lock()
	if l.err != nil || !beyond && len(l.out) >= queueMax {
		l.mu.Unlock()
		return false
	}
	l.append(h, head, body, queued)
	due := !l.batch && l.schedule()
	l.mu.Unlock()
	if due {
		l.writer(l.flush)
	}
	return true
}

// schedule reports whether the caller has to have the queue written: no other goroutine does, or
// will. mu must be held.
func (l *link) schedule() (due bool) {
	due = !l.writing && !l.scheduled
	l.scheduled = l.scheduled || due
	return due
}

// send adds a frame to the queue when there is room, and has it written. It fails if the
// connection ends, or stop is closed, before.
func (l *link) send(stop <-chan struct{}, h frame.Header, head, body []byte, queued func()) error {
	for {
		l.mu.Lock()
		if l.err != nil {
			l.mu.Unlock()
			return l.err
		}
		if len(l.out) < queueMax {
			l.append(h, head, body, queued)
			due := !l.inline && l.schedule()
			l.mu.Unlock()
			switch {
			case l.inline:
				l.flush()
			case due:
				l.writer(l.flush)
			}
			return nil
		}
		room, due := l.awaited(), l.schedule()
		l.mu.Unlock()
		if due {
			l.writer(l.flush) // the reader may be the waiting one
		}
		select {
		case <-room:
		case <-l.done:
		case <-stop:
			return errStopped
		}
	}
}

var errStopped = errors.New("frames: canceled by the caller")

// flush writes the queue until it is empty, unless another goroutine does. Goroutines that are
// ready add their frames first: a write costs more.
func (l *link) flush() {
	if l.startWriting() {
		runtime.Gosched()
		l.writeQueue()
	}
}

func (l *link) startWriting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scheduled = false
	if l.writing {
		return false
	}
	l.writing = true
	return true
}

// writeQueue is the rest of flush.
func (l *link) writeQueue() {
	l.mu.Lock()
	for len(l.out) > 0 && l.err == nil {
		now := l.out
		l.out, l.spare = l.spare[:0], nil
		if l.room != nil {
			close(l.room)
			l.room = nil
		}
		l.flushes++
		l.mu.Unlock()
		_, err := l.conn.Write(now)
		if err != nil {
			l.end(err)
		}
		l.mu.Lock()
		if cap(now) > queueSmall && cap(now) <= queueKept {
			l.spare = now
		}
	}
	l.writing = false
	l.mu.Unlock()
}

// beginBatch has frames that are forced from now on written by endBatch.
func (l *link) beginBatch() {
	l.mu.Lock()
	l.batch = true
	l.mu.Unlock()
}

// endBatch writes the queue, unless another goroutine does.
func (l *link) endBatch() {
	l.mu.Lock()
	l.batch = false
	write := len(l.out) > 0 && !l.writing
	l.writing = l.writing || write
	l.mu.Unlock()
	if write {
		l.writeQueue()
	}
}

// awaited returns the channel that is closed when out is taken. mu must be held.
func (l *link) awaited() <-chan struct{} {
	if l.room == nil {
		l.room = make(chan struct{})
	}
	return l.room
}

// awaitRoom waits until the queue has room.
func (l *link) awaitRoom() {
	l.mu.Lock()
	if len(l.out) < queueMax || l.err != nil {
		l.mu.Unlock()
		return
	}
	room := l.awaited()
	l.mu.Unlock()
	l.endBatch()
	select {
	case <-room:
	case <-l.done:
	}
}

// next reads a frame. The payload is valid until the next call to next or hasFrame.
func (l *link) next() (h frame.Header, payload []byte, err error) {
	l.discard()
	if _, err := l.in.Peek(1); err != nil {
		return h, nil, err
	}
	whole := l.in.Buffered() >= frame.HeaderSize
	if !whole {
		l.partial.Store(true)
	}
	head, err := l.in.Peek(frame.HeaderSize)
	if err != nil {
		return h, nil, err
	}
	if h, err = frame.ParseHeader(head); err != nil {
		return h, nil, err
	}
	size := frame.HeaderSize + int(h.Length)
	l.in.grow(size)
	if whole && l.in.Buffered() < size {
		whole = false
		l.partial.Store(true)
	}
	if payload, err = l.payload(size); err != nil {
		return h, nil, err
	}
	l.frames.Add(1)
	if !whole {
		l.partial.Store(false)
	}
	return h, payload, nil
}

// payload reads the rest of a frame: into the buffer, or into separate memory if it is larger.
func (l *link) payload(size int) ([]byte, error) {
	if size <= l.in.Size() {
		b, err := l.in.Peek(size)
		if err != nil {
			return nil, err
		}
		l.taken = size
		return b[frame.HeaderSize:], nil
	}
	_, _ = l.in.Discard(frame.HeaderSize)
	b := make([]byte, size-frame.HeaderSize)
	_, err := io.ReadFull(l.in, b)
	return b, err
}

// discard drops the last frame from the buffer.
func (l *link) discard() {
	_, _ = l.in.Discard(l.taken) // it was peeked at
	l.taken = 0
}

// hasFrame reports whether the next frame has arrived as a whole.
func (l *link) hasFrame() bool {
	l.discard()
	if l.in.Buffered() < frame.HeaderSize {
		return false
	}
	head, _ := l.in.Peek(frame.HeaderSize)
	h, err := frame.ParseHeader(head)
	return err != nil || l.in.Buffered() >= frame.HeaderSize+int(h.Length)
}
