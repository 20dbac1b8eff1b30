package client

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// delivering is a Stream that delivers events without a waiting goroutine.
type delivering interface {
	// Deliver calls event for each event from now on, and end when the stream ends, unless it was
	// closed. Neither may block.
	Deliver(event func(wire.Event), end func())
}

// listen opens an event stream and handles its events until it breaks or ctx ends.
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
	stream, err := r.c.transport.Events(ctx, s.Owner, wire.EventsRequest{Holder: r.c.holder})
	if err != nil {
		over()
		return
	}
	if by, delivers := stream.(delivering); delivers && r.c.tasks.Begin() == nil {
		over := sync.OnceFunc(func() {
			over()
			r.c.tasks.End()
		})
		context.AfterFunc(ctx, func() {
			_ = stream.Close()
			over()
		})
		by.Deliver(func(e wire.Event) { r.take(s, e) }, over)
		return
	}
	defer over()
	defer func() { _ = stream.Close() }()
	for {
		event, err := stream.Next()
		if err != nil {
			return
		}
		r.take(s, event)
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
