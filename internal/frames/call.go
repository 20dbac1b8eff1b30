package frames

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// Call is a call in progress, or a stream.
type Call struct {
	client *Client
	number uint32
	by     time.Time     // of a started call
	more   signal.Signal // sent when something has arrived; nil if done is called instead
	goOn   signal.Signal // sent when the rest of the body may be sent; nil if there is none
	done   func(status int, answer []byte, err error)

	mu     sync.Mutex // guards the fields below
	begun  bool       // the status has arrived
	status int
	have   []byte // arrived and not read
	last   bool   // everything has arrived
	err    error  // no more will
	whole  bool   // wakes its caller only for the whole answer
	sink   *sink  // of a stream
}

// errTooLong ends a call if its answer is too long, or is not read in time.
var errTooLong = fmt.Errorf("the answer is larger than %d bytes", wire.MaxBody)

// fail ends a started call that has no answer.
func (call *Call) fail(err error) {
	if call.forget() {
		call.done(0, nil, err)
	}
}

// because returns the context's error if it has ended, else err.
func because(ctx context.Context, err error) error {
	if errors.Is(err, errStopped) {
		return ctx.Err()
	}
	return err
}

// exchange waits for the answer, and sends the rest of the body when the member requests it.
func (call *Call) exchange(ctx context.Context, body []byte) error {
	for {
		if ready, err := call.ready(); ready || err != nil {
			return err
		}
		select {
		case <-call.more:
		case <-call.goOn:
			if err := call.sendRest(ctx, body); err != nil {
				return err
			}
		case <-ctx.Done():
			return call.endedBy(ctx.Err())
		case <-call.client.link.done:
			return call.endedBy(call.client.link.reason())
		}
	}
}

// endedBy returns nil if the answer arrived before the call ended, else the reason for the end.
func (call *Call) endedBy(reason error) error {
	if ready, err := call.ready(); ready || err != nil {
		return err
	}
	return reason
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
		err := call.client.link.send(ctx.Done(), frame.Header{Kind: frame.Data, Number: call.number}, nil, rest[:n], nil)
		if err != nil {
			return because(ctx, err)
		}
		rest = rest[n:]
	}
	return nil
}

// forget ends a call, and reports whether it had not ended. If the member has not answered, a frame
// cancels the request there.
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

func (call *Call) add(h frame.Header, payload []byte) error {
	call.mu.Lock()
	defer call.mu.Unlock()
	if call.begun != (h.Kind == frame.Data) || call.last {
		return fmt.Errorf("%w: answer parts out of order", frame.ErrMalformed)
	}
	if !call.begun {
		status, rest, err := frame.ParseStatus(payload)
		if err != nil {
			return err
		}
		call.begun, call.status, payload = true, status, rest
	}
	switch {
	case call.sink != nil:
		call.err = call.sink.part(payload)
	case len(call.have)+len(payload) > wire.MaxBody:
		call.err = errTooLong
	default:
		call.have = append(call.have, payload...)
	}
	call.last = h.Flags&frame.Last != 0
	switch {
	case call.done != nil: // a started call, with an answer in parts
		if (call.last || call.err != nil) && call.client.remove(call) {
			call.done(call.status, call.have, call.err)
		}
		return nil
	case call.sink != nil:
		call.delivered()
		return nil
	}
	if call.last || !call.whole || call.err != nil {
		call.more.Send()
	}
	return nil
}
