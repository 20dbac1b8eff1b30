package frames

import (
	"context"
	"errors"
	"io"

	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

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

// sink takes a stream that is delivered.
type sink struct {
	part func(data []byte) error
	end  func()
}

// Deliver has a stream, from where it was read to, delivered by the goroutine that reads the
// connection, so that none has to wait for it. part gets the data that arrived, and must not keep it;
// an error ends the stream. end is called when the stream ends, unless it was closed. Neither may
// wait, or close the stream.
func (s *Stream) Deliver(part func(data []byte) error, end func()) {
	call := s.call
	call.mu.Lock()
	defer call.mu.Unlock()
	call.sink = &sink{part, end}
	if have := call.have; len(have) > 0 {
		call.have = nil
		call.err = errors.Join(call.err, part(have))
	}
	if call.client.link.reason() != nil { // the reader may have ended before
		call.err = errors.Join(call.err, ErrEnded)
	}
	_ = call.delivered()
}

// delivered ends a stream that has ended. call.mu must be held.
func (call *Call) delivered() error {
	if (call.last || call.err != nil) && call.client.remove(call) {
		if !call.last {
			call.client.link.offer(frame.Header{Kind: frame.Cancel, Number: call.number})
		}
		go call.sink.end() // it may take locks that are held where part waits for call.mu
	}
	return nil
}

// Close implements io.Closer.
func (s *Stream) Close() error {
	s.call.forget()
	return nil
}
