package grid

import (
	"context"

	"github.com/snowgrid/snowgrid/client"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// ownTransport is how the member's own handles reach owners: this member by a
// function call, others over HTTP.
type ownTransport struct {
	m    *Member
	http *client.HTTP
}

// Call implements client.Transport.
func (t ownTransport) Call(ctx context.Context, addr, path string, in, out any) error {
	if addr != t.m.addrs.API {
		return t.http.Call(ctx, addr, path, in, out)
	}
	c := t.m.served[path]
	result, err := c.serve(ctx, in)
	if err != nil {
		return local(err)
	}
	c.deliver(out, result)
	return nil
}

// Events implements client.Transport.
func (t ownTransport) Events(ctx context.Context, addr string, in wire.EventsRequest) (client.Stream, error) {
	if addr != t.m.addrs.API {
		return t.http.Events(ctx, addr, in)
	}
	return t.m.events.open(ctx, in.Holder), nil
}

// local gives an error of a local call the code that it would travel with.
func local(err error) error {
	if e := wire.ErrorOf(err, 0); e.Code == "unavailable" {
		return failure.Errorf(sequencer.ErrUnavailable, "%w", err)
	}
	return err
}
