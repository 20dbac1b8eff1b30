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
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// Client is the calling end of a connection. Its methods are safe for concurrent use.
type Client struct {
	link  *link
	late  expiry
	ended func(error) // may be nil

	mu     sync.Mutex // guards the fields below
	calls  map[uint32]*Call
	number uint32
}

// NewClient returns the caller's end of an upgraded connection. in reads from it, after the bytes
// already read. ended, if not nil, is called once with the reason when the connection has ended, by
// the reading goroutine: net.ErrClosed after Close.
func NewClient(conn net.Conn, in io.Reader, ended func(error)) *Client {
	background := func(f func()) { go f() } // a call must not wait for a peer that does not read
	c := &Client{link: newLink(conn, in, background, false, callerIdle), calls: map[uint32]*Call{}, ended: ended}
	c.late.fire = c.expire
	go c.read()
	return c
}

// Close ends the connection and its calls.
func (c *Client) Close() { c.link.end(net.ErrClosed) }

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.link.done }

// Do makes a call and returns its answer. Connection errors match ErrEnded; if ctx ends first, the
// error matches ctx's.
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

// startedMax is the number of calls on a connection above which Start reports false.
const startedMax = StreamsMax * 3 / 8

// Start makes a call with a deadline and does not wait: the goroutine that reads the connection
// calls done once, with the answer, or an error as from Do, or context.DeadlineExceeded. done must not wait, or keep
// the answer. Start reports false, and never calls done, if Do has to make the call: the body is
// long, the connection has ended, or it has too many calls.
func (c *Client) Start(by time.Time, head frame.Head, body []byte,
	done func(status int, answer []byte, err error)) bool {
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
	if c.link.reason() != nil && c.remove(call) { // a call that was added later does not end with it
		return false
	}
	c.late.note(by)
	c.link.force(frame.Header{Kind: frame.Request, Number: call.number}, first, body, nil)
	return true
}

// begin sends a request.
func (c *Client) begin(ctx context.Context, head frame.Head, body []byte, whole bool) (*Call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	head.Length = uint32(len(body))
	var room [160]byte
	first, err := frame.AppendHead(room[:0], head)
	if err != nil {
		return nil, err
	}
	call := &Call{client: c, more: signal.New(), whole: whole}
	if len(body) > frame.Inline {
		call.goOn = signal.New()
	}
	c.add(call)
	err = c.link.send(ctx.Done(), frame.Header{Kind: frame.Request, Number: call.number}, first,
		body[:min(len(body), frame.Inline)], nil)
	if err != nil {
		c.remove(call)
		if err = because(ctx, err); errors.Is(err, ErrEnded) {
			err = failure.Errorf(ErrNotSent, "%w", err)
		}
		return nil, err
	}
	return call, nil
}

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

// expire ends calls with a past deadline, and returns the first deadline among the others.
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
			if c.ended != nil {
				c.ended(c.link.reason())
			}
			return
		}
	}
}

// failStarted ends the calls and streams that no goroutine waits for. The connection has ended.
func (c *Client) failStarted() {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.calls))
	c.mu.Unlock()
	for _, call := range all {
		if call.done != nil {
			call.fail(c.link.reason())
			continue
		}
		call.mu.Lock()
		if call.sink != nil {
			call.err = c.link.reason()
			call.delivered()
		}
		call.mu.Unlock()
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
		return fmt.Errorf("%w: kind %d from a member", frame.ErrMalformed, h.Kind)
	}
	c.mu.Lock()
	call := c.calls[h.Number]
	c.mu.Unlock()
	if call == nil {
		return nil // it was given up
	}
	if h.Kind == frame.Continue {
		call.goOn.Send()
		return nil
	}
	if call.done != nil && h.Kind == frame.Answer && h.Flags == frame.Last {
		status, answer, err := frame.ParseStatus(payload)
		if err == nil && c.remove(call) {
			call.done(status, answer, nil)
		}
		return err
	}
	return call.add(h, payload)
}
