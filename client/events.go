package client

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/wire"
)

// listen opens an event stream and delivers its events until it breaks or ctx ends.
func (r *runner) listen(ctx context.Context, s *session.Stream) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.do(func(m *session.Machine, now session.Now) {
		if stop := r.streams[s]; stop != nil {
			stop()
			delete(r.streams, s)
		}
		m.Broken(now, s)
	})
	stream, err := r.c.transport.Events(ctx, s.Owner, wire.EventsRequest{Holder: r.c.holder})
	if err != nil {
		return
	}
	defer func() { _ = stream.Close() }()
	for {
		event, err := stream.Next()
		if err != nil {
			return
		}
		if event.Name == "" {
			r.do(func(m *session.Machine, now session.Now) { m.Stands(now, s) })
			continue
		}
		r.c.ended(event.Name, event.Life)
	}
}
