package frames

import (
	"context"
	"io"
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

// Close implements io.Closer.
func (s *Stream) Close() error {
	s.call.forget()
	return nil
}
