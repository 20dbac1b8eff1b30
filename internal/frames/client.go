package frames

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/wire"
	"github.com/snowgrid/snowgrid/wire/frame"
)

// Client is the end of a connection that makes calls. Its methods may be called from any number
// of goroutines.
type Client struct {
	link *link

	mu     sync.Mutex // guards what follows
	calls  map[uint32]*Call
	number uint32
}

// NewClient returns the caller's end of a connection that was upgraded. in reads from it, after
// what was read already.
func NewClient(conn net.Conn, in io.Reader) *Client {
	c := &Client{link: newLink(conn, in, false, callerIdle), calls: map[uint32]*Call{}}
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
	more   chan struct{} // holds one when something has arrived
	goOn   chan struct{} // holds one when the rest of the body may be sent

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
	call, err := c.begin(ctx, head, body, true)
	if err != nil {
		return 0, nil, err
	}
	defer call.forget()
	if err := call.exchange(ctx, body); err != nil {
		return 0, nil, err
	}
	return call.status, call.have, nil
}

// Open makes a call whose answer is a stream. It ends with ctx, and has to be closed.
func (c *Client) Open(ctx context.Context, head frame.Head, body []byte) (status int, stream *Stream, err error) {
	call, err := c.begin(ctx, head, body, false)
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
func (c *Client) begin(ctx context.Context, head frame.Head, body []byte, whole bool) (*Call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	head.Length = uint32(len(body))
	first, err := frame.AppendHead(make([]byte, 0, 160), head)
	if err != nil {
		return nil, err
	}
	call := &Call{client: c, more: make(chan struct{}, 1), goOn: make(chan struct{}, 1), whole: whole}
	c.link.begun.Add(1)
	c.link.open.Add(1)
	c.mu.Lock()
	for call.number == 0 || c.calls[call.number] != nil {
		c.number++
		call.number = c.number
	}
	c.calls[call.number] = call
	c.mu.Unlock()
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

// forget ends a call; the member is told if it has not answered.
func (call *Call) forget() {
	call.mu.Lock()
	last := call.last
	call.mu.Unlock()
	if call.client.remove(call) && !last {
		call.client.link.offer(frame.Header{Kind: frame.Cancel, Number: call.number})
	}
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
			return
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
		notify(call.goOn)
		return nil
	}
	return call.add(h, payload)
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
	case call.have == nil:
		call.have = payload
	default:
		call.have = append(call.have, payload...)
	}
	call.last = h.Flags&frame.Last != 0
	if call.last || !call.whole || call.err != nil {
		notify(call.more)
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
