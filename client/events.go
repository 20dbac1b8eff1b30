package client

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// listen opens an event stream. Its events are handled until it breaks or ctx ends.
func (r *runner) listen(ctx context.Context, s *session.Stream) {
	ctx, cancel := context.WithCancel(ctx)
	over := sync.OnceFunc(func() {
		cancel()
		r.do(func(m *session.Machine, now session.Now) {
			if stop := r.streams[s]; stop != nil {
				stop()
				delete(r.streams, s)
			}
			m.Broken(now, s)
		})
	})
	if r.c.tasks.Begin() != nil {
		over()
		return
	}
	ended := func() {
		over()
		r.c.tasks.End()
	}
	take := func(e wire.Event) { r.take(s, e) }
	if err := r.c.transport.Events(ctx, s.Owner, wire.EventsRequest{Holder: r.c.holder}, take, ended); err != nil {
		ended()
	}
}

// take handles a stream event; an event without a name means that the stream is established.
func (r *runner) take(s *session.Stream, e wire.Event) {
	if e.Name == "" {
		r.do(func(m *session.Machine, now session.Now) { m.Stands(now, s) })
		return
	}
	r.c.ended(e.Name, e.Life)
}
