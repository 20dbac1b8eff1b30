package frames

import (
	"context"
	"errors"
	"net/http"

	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// sink takes an answer that is a stream.
type sink struct {
	part   func(data []byte) error
	end    func()
	unbind func() bool // from the context
}

// Open makes a call whose answer is a stream. With status 200 the goroutine that reads the connection passes the
// data to part as it arrives, so that no other waits for it; part must not keep it, and an error ends the stream. end
// is called once, when the stream has ended, which it does with ctx at the latest. Neither may wait. With another
// status Open returns the whole answer, and calls neither.
func (c *Client) Open(ctx context.Context, head frame.Head, body []byte, part func(data []byte) error,
	end func()) (status int, answer []byte, err error) {
	call, err := c.begin(ctx, head, body, false)
	if err != nil {
		return 0, nil, err
	}
	if err := call.exchange(ctx, body); err != nil {
		call.forget()
		return 0, nil, err
	}
	if call.status == http.StatusOK {
		call.deliver(ctx, part, end)
		return call.status, nil, nil
	}
	defer call.forget()
	call.mu.Lock()
	call.whole = true
	call.mu.Unlock()
	if err := call.exchange(ctx, nil); err != nil {
		return 0, nil, err
	}
	return call.status, call.have, nil
}

// deliver passes a stream on, from its beginning.
func (call *Call) deliver(ctx context.Context, part func(data []byte) error, end func()) {
	call.mu.Lock()
	defer call.mu.Unlock()
	call.sink = &sink{part: part, end: end}
	call.sink.unbind = context.AfterFunc(ctx, func() {
		if call.forget() {
			end()
		}
	})
	if have := call.have; len(have) > 0 {
		call.have = nil
		call.err = errors.Join(call.err, part(have))
	}
	if call.client.link.reason() != nil { // the reader may have ended before
		call.err = errors.Join(call.err, ErrEnded)
	}
	call.delivered()
}

// delivered ends a stream that has ended. call.mu must be held.
func (call *Call) delivered() {
	if (call.last || call.err != nil) && call.client.remove(call) {
		if !call.last {
			call.client.link.offer(frame.Header{Kind: frame.Cancel, Number: call.number})
		}
		call.sink.unbind()
		go call.sink.end() // it may take locks that are held where part waits for call.mu
	}
}
