package calls

import (
	"context"
	"net/http"

	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// Events implements Transport.
func (p *Pool) Events(ctx context.Context, addr string, in wire.EventsRequest) (Stream, error) {
	body, err := wire.Encode(wire.MsgPack, in)
	if err != nil {
		return nil, err
	}
	conn, err := p.framed(ctx, addr)
	if err != nil {
		return nil, err
	}
	status, answer, err := conn.Open(ctx, frame.Head{Path: wire.PathEvents, Timeout: remaining(ctx)}, body)
	if err != nil {
		return nil, unreachable(addr, err)
	}
	if status == http.StatusOK {
		return &stream{answer: answer}, nil
	}
	defer func() { _ = answer.Close() }()
	data, err := wire.ReadBody(answer)
	if err != nil {
		return nil, unreadable(addr, status, err)
	}
	return nil, answered(addr, status, data)
}

type stream struct {
	answer *frames.Stream
	part   []byte // a partly received event
}

func (s *stream) Next() (wire.Event, error) { return wire.ReadEvent(s.answer) }

func (s *stream) Close() error { return s.answer.Close() }

func (s *stream) Deliver(event func(wire.Event), end func()) {
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
