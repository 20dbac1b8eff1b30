package calls

import (
	"context"
	"net/http"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// Events implements Transport.
func (p *Pool) Events(ctx context.Context, addr string, in wire.EventsRequest, event func(wire.Event),
	end func()) error {
	body, err := wire.Encode(wire.MsgPack, in)
	if err != nil {
		return err
	}
	conn, err := p.framed(ctx, addr)
	if err != nil {
		return err
	}
	var begun []byte // of an event that has not arrived as a whole
	part := func(data []byte) error {
		if len(begun) > 0 {
			data = append(begun, data...)
		}
		for {
			e, rest, whole, err := wire.CutEvent(data)
			if err != nil {
				return err
			}
			if data = rest; !whole {
				begun = append([]byte(nil), data...)
				return nil
			}
			event(e)
		}
	}
	head := frame.Head{Path: wire.PathEvents, Timeout: remaining(ctx)}
	status, answer, err := conn.Open(ctx, head, body, part, end)
	switch {
	case err != nil:
		return unreachable(addr, err)
	case status != http.StatusOK:
		return answered(addr, status, answer)
	}
	return nil
}
