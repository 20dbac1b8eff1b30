package frames

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/wire"
	"github.com/snowgrid/snowgrid/wire/frame"
)

// Client is the end of a connection that makes calls. Its methods may be called from any number
// of goroutines.
type Client struct {
	link *link
	late expiry

	mu     sync.Mutex // guards what follows
	calls  map[uint32]*Call
	number uint32
}

// NewClient returns the caller's end of a connection that was upgraded. in reads from it, after
// what was read already.
func NewClient(conn net.Conn, in io.Reader) *Client {
	c := &Client{link: newLink(conn, in, nil, callerIdle), calls: map[uint32]*Call{}}
	c.late.fire = c.expire
	go c.link.write()
	go c.read()
	return c
}

// Close ends the connection and its calls.
func (c *Client) Close() { c.link.end(net.ErrClosed) }

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.link.done }

// Call is a call in progress, or an event stream.
type Call struct {
	client *Client
	number uint32
	by     time.Time     // zero: no deadline
	more   chan struct{} // holds one when something has arrived; nil if done is called instead
	goOn   chan struct{} // holds one when the rest of the body may be sent
	done   func(status int, answer []byte, err error)

	mu     sync.Mutex // guards what follows
	begun  bool       // the status is known
	status int
	have   []byte // arrived and not read
	last   bool   // everything has arrived
	err    error  // no more will
	whole  bool   // wakes its reader only for the whole answer
}

// errTooLong is why a call ends whose answer is too long, or is not read in time.
var errTooLong = fmt.Errorf("the answer is larger than %d bytes", wire.MaxBody)

// Do makes a call and returns its answer. Errors of the connection match ErrEnded; if ctx ends
// first, the error matches its.
func (c *Client) Do(ctx context.Context, head frame.Head, body []byte) (status int, answer []byte, err error) {
	return c.DoBy(ctx, time.Time{}, head, body)
}

// DoBy is Do with a deadline, unless that is zero: after it the error matches
// context.DeadlineExceeded.
func (c *Client) DoBy(ctx context.Context, by time.Time, head frame.Head, body []byte) (status int, answer []byte, err error) {
	call, err := c.begin(ctx, by, head, body, true)
	if err != nil {
		return 0, nil, err
	}
	defer call.forget()
	if err := call.exchange(ctx, body); err != nil {
		return 0, nil, err
	}
	return call.status, call.have, nil
}

// startedMax is how many calls a connection may have for another to be started.
const startedMax = StreamsMax / 2

// Start makes a call with a deadline and does not wait: done is called once, with the answer or
// an error as of DoBy, by the goroutine that reads the connection. It must not wait, and must not
// keep the answer. Start reports false, and calls nothing, if the call has to be made by Do: the
// body is long, the connection has ended, or it has many calls already.
func (c *Client) Start(by time.Time, head frame.Head, body []byte, done func(status int, answer []byte, err error)) bool {
	if len(body) > frame.Inline || c.link.open.Load() >= startedMax || !c.link.hasRoom() {
		return false
	}
	head.Length = uint32(len(body))
	var room [160]byte
	first, err := frame.AppendHead(room[:0], head)
	if err != nil {
		return false
	}
	call := &Call{client: c, by: by, done: done}
	c.add(call)
	if c.link.reason() != nil && c.remove(call) { // what was added later is not ended with it
		return false
	}
	c.late.note(by)
	c.link.force(frame.Header{Kind: frame.Request, Number: call.number}, first, body, func() {})
	return true
}

// Open makes a call whose answer is a stream. It ends with ctx, and has to be closed.
func (c *Client) Open(ctx context.Context, head frame.Head, body []byte) (status int, stream *Stream, err error) {
	call, err := c.begin(ctx, time.Time{}, head, body, false)
	if err != nil {
		return 0, nil, err
	}
	if err := call.exchange(ctx, body); err != nil {
		call.forget()
		return 0, nil, err
	}
	return call.status, &Stream{ctx: ctx, call: call}, nil
}

// begin sends a request.
func (c *Client) begin(ctx context.Context, by time.Time, head frame.Head, body []byte, whole bool) (*Call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	head.Length = uint32(len(body))
	var room [160]byte
	first, err := frame.AppendHead(room[:0], head)
	if err != nil {
		return nil, err
	}
	call := &Call{client: c, by: by, more: make(chan struct{}, 1), whole: whole}
	if len(body) > frame.Inline {
		call.goOn = make(chan struct{}, 1)
	}
	c.add(call)
	c.late.note(by)
	err = c.link.send(ctx.Done(), frame.Header{Kind: frame.Request, Number: call.number}, first, body[:min(len(body), frame.Inline)])
	if err != nil {
		c.remove(call)
		if err = because(ctx, err); errors.Is(err, ErrEnded) {
			err = failure.Errorf(ErrNotSent, "%w", err)
		}
		return nil, err
	}
	return call, nil
}

// add gives a call a number.
func (c *Client) add(call *Call) {
	c.link.begun.Add(1)
	c.link.open.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for call.number == 0 || c.calls[call.number] != nil {
		c.number++
		call.number = c.number
	}
	c.calls[call.number] = call
}

// expire ends the calls whose deadline is over, and returns the first deadline of the others.
func (c *Client) expire(now time.Time) (next time.Time) {
	var over []*Call
	c.mu.Lock()
	for _, call := range c.calls {
		switch {
		case call.by.IsZero():
		case !now.Before(call.by):
			over = append(over, call)
		case next.IsZero() || call.by.Before(next):
			next = call.by
		}
	}
	c.mu.Unlock()
	for _, call := range over {
		call.fail(context.DeadlineExceeded)
	}
	return next
}

// fail ends a call that has no answer.
func (call *Call) fail(err error) {
	if call.done != nil {
		if call.forget() {
			call.done(0, nil, err)
		}
		return
	}
	call.mu.Lock()
	defer call.mu.Unlock()
	if call.err == nil && !call.last {
		call.err = err
		notify(call.more)
	}
}

// because returns the error of a context that has ended, else err.
func because(ctx context.Context, err error) error {
	if errors.Is(err, errStopped) {
		return ctx.Err()
	}
	return err
}

// exchange waits for the answer, and sends the rest of the body when the member wants it.
func (call *Call) exchange(ctx context.Context, body []byte) error {
	for {
		select {
		case <-call.more:
			if ready, err := call.ready(); ready || err != nil {
				return err
			}
		case <-call.goOn:
			if err := call.sendRest(ctx, body); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-call.client.link.done:
			if ready, err := call.ready(); ready || err != nil {
				return err
			}
			return call.client.link.reason()
		}
	}
}

// ready reports whether the caller's answer has arrived.
func (call *Call) ready() (bool, error) {
	call.mu.Lock()
	defer call.mu.Unlock()
	return call.last || call.begun && !call.whole, call.err
}

func (call *Call) sendRest(ctx context.Context, body []byte) error {
	for rest := body[min(len(body), frame.Inline):]; len(rest) > 0; {
		n := min(len(rest), frame.Chunk)
		err := call.client.link.send(ctx.Done(), frame.Header{Kind: frame.Data, Number: call.number}, nil, rest[:n])
		if err != nil {
			return because(ctx, err)
		}
		rest = rest[n:]
	}
	return nil
}

// forget ends a call, and reports whether it had not ended; the member is told if it has not
// answered.
func (call *Call) forget() bool {
	call.mu.Lock()
	last := call.last
	call.mu.Unlock()
	ended := call.client.remove(call)
	if ended && !last {
		call.client.link.offer(frame.Header{Kind: frame.Cancel, Number: call.number})
	}
	return ended
}

func (c *Client) remove(call *Call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[call.number] != call {
		return false
	}
	delete(c.calls, call.number)
	c.link.open.Add(-1)
	return true
}

// read reads the member's frames until the connection ends.
func (c *Client) read() {
	for {
		h, payload, err := c.link.next()
		if err == nil {
			err = c.arrived(h, payload)
		}
		if err != nil {
			c.link.end(err)
			c.late.stop()
			c.failStarted()
			return
		}
	}
}

// failStarted ends the calls that no goroutine waits for. The connection has ended.
func (c *Client) failStarted() {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.calls))
	c.mu.Unlock()
	for _, call := range all {
		if call.done != nil {
			call.fail(c.link.reason())
		}
	}
}

func (c *Client) arrived(h frame.Header, payload []byte) error {
	switch h.Kind {
	case frame.Ping:
		c.link.offer(frame.Header{Kind: frame.Pong})
		return nil
	case frame.Pong:
		return nil
	case frame.Answer, frame.Data, frame.Continue:
	default:
		return fmt.Errorf("%w: kind %d of a member", frame.ErrMalformed, h.Kind)
	}
	c.mu.Lock()
	call := c.calls[h.Number]
	c.mu.Unlock()
	if call == nil {
		return nil // it was given up
	}
	if h.Kind == frame.Continue {
		if call.goOn != nil {
			notify(call.goOn)
		}
		return nil
	}
	if call.done != nil && h.Kind == frame.Answer && h.Flags == frame.Last {
		return call.answered(payload)
	}
	return call.add(h, payload)
}

// answered ends a started call with its whole answer.
func (call *Call) answered(payload []byte) error {
	status, answer, err := frame.ParseStatus(payload)
	if err == nil && call.client.remove(call) {
		call.done(status, answer, nil)
	}
	return err
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add adds a part of the answer.
func (call *Call) add(h frame.Header, payload []byte) error {
	call.mu.Lock()
	defer call.mu.Unlock()
	if call.begun != (h.Kind == frame.Data) || call.last {
		return fmt.Errorf("%w: parts of an answer out of order", frame.ErrMalformed)
	}
	if !call.begun {
		status, rest, err := frame.ParseStatus(payload)
		if err != nil {
			return err
		}
		call.begun, call.status, payload = true, status, rest
	}
	switch {
	case len(call.have)+len(payload) > wire.MaxBody:
		call.err = errTooLong
	default:
		call.have = append(call.have, payload...)
	}
	call.last = h.Flags&frame.Last != 0
	if call.done != nil {
		return call.addedTo()
	}
	if call.last || !call.whole || call.err != nil {
		notify(call.more)
	}
	return nil
}

// addedTo ends a started call whose answer came in parts.
func (call *Call) addedTo() error {
	if (call.last || call.err != nil) && call.client.remove(call) {
		call.done(call.status, call.have, call.err)
	}
	return nil
}

// Stream reads an answer as it arrives. One goroutine may read it.
type Stream struct {
	ctx  context.Context
	call *Call
}

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	for {
		n, err := s.call.take(p)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-s.call.more:
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		case <-s.call.client.link.done:
			if n, err := s.call.take(p); n > 0 || err != nil {
				return n, err
			}
			return 0, s.call.client.link.reason()
		}
	}
}

func (call *Call) take(p []byte) (int, error) {
	call.mu.Lock()
	defer call.mu.Unlock()
	n := copy(p, call.have)
	if call.have = call.have[n:]; len(call.have) == 0 {
		call.have = nil
	}
	switch {
	case n > 0:
		return n, nil
	case call.err != nil:
		return 0, call.err
	case call.last:
		return 0, io.EOF
	}
	return 0, nil
}

// Close implements io.Closer.
func (s *Stream) Close() error {
	s.call.forget()
	return nil
}
