package api

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

type localTransport struct {
	server *Server
	addr   string // of the server
	http   *calls.Pool
}

// Local returns the transport of handles in this process, to the server at addr without
// HTTP.
func (a *Server) Local(addr string, http *calls.Pool) calls.Transport {
	return localTransport{server: a, addr: addr, http: http}
}

func (t localTransport) Call(ctx context.Context, addr, path string, in, out any) error {
	if addr != t.addr {
		return t.http.Call(ctx, addr, path, in, out)
	}
	c := t.server.calls[path]
	result, err := c.serve(context.WithValue(ctx, callerKey{}, caller{peer: security.Self()}), in)
	if err != nil {
		if wire.ErrorOf(err, 0).Code == "unavailable" { // as it would travel
			return failure.Errorf(sequencer.ErrUnavailable, "%w", err)
		}
		return err
	}
	c.deliver(out, result)
	return nil
}

func (t localTransport) Events(ctx context.Context, addr string, in wire.EventsRequest, event func(wire.Event),
	end func()) error {
	if addr != t.addr {
		return t.http.Events(ctx, addr, in, event, end)
	}
	s := t.server.events.open(ctx, in.Holder)
	go func() {
		defer end()
		for {
			e, err := s.Next()
			if err != nil {
				return
			}
			event(e)
		}
	}()
	return nil
}
