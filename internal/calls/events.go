package calls

import (
	"context"
	"net/http"

	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// eventsInFrames opens an event stream in frames; ok is false if it has to be opened over HTTP.
func (h *HTTP) eventsInFrames(ctx context.Context, addr string, body []byte) (stream Stream, ok bool, err error) {
	if h.plain {
		return nil, false, nil
	}
	conn, err := h.framed(ctx, addr)
	if err != nil || conn == nil {
		return nil, err != nil, err
	}
	head, _ := headOf(ctx, wire.PathEvents, nil)
	status, answer, err := conn.Open(ctx, head, body)
	if err != nil {
		return nil, true, unreachable(addr, err)
	}
	if status == http.StatusOK {
		return &framedStream{httpStream{answer}, answer, nil}, true, nil
	}
	defer func() { _ = answer.Close() }()
	data, err := wire.ReadBody(answer)
	if err != nil {
		return nil, true, unreadable(addr, status, err)
	}
	return nil, true, answered(addr, status, data)
}

// framedStream is an event stream in frames.
type framedStream struct {
	httpStream
	answer *frames.Stream
	part   []byte // a partly received event
}

// Deliver implements delivering.
func (s *framedStream) Deliver(event func(wire.Event), end func()) {
	s.answer.Deliver(func(data []byte) error {
		if len(s.part) > 0 {
			data = append(s.part, data...)
		}
		for {
			e, rest, whole, err := wire.CutEvent(data)
			if err != nil {
				return err
			}
			if data = rest; !whole {
				s.part = append(s.part[:0:0], data...)
				return nil
			}
			event(e)
		}
	}, end)
}
