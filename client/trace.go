package client

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/tracing"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// spans are a client's spans; see Config.Trace.
type spans struct {
	*tracing.Tracer
	owns func(addr string) bool // whether the member at addr owns a partition, by the directory

	mu        sync.Mutex
	failovers map[string]func(error) // ends the failover from the member at an address; nil when closed
}

func newSpans(trace tracing.Func, owns func(addr string) bool) *spans {
	return &spans{Tracer: tracing.New(trace), owns: owns, failovers: map[string]func(error){}}
}

// named begins the span of an operation on a sequencer.
func (s *spans) named(ctx context.Context, operation, name string) (context.Context, func(error)) {
	return s.Begin(ctx, operation, slog.String("sequencer", name))
}

// tried applies the end of a call to the member at addr: a failover from it begins if it did not reply, and
// ends if it did.
func (s *spans) tried(ctx context.Context, addr string, err error) {
	switch {
	case s.Tracer == nil || addr == "":
	case err == nil || wire.IsAnswer(err):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(addr, failure.Errorf(sequencer.ErrUnavailable, "client: the member at %s answers again", addr))
	case errors.Is(err, sequencer.ErrUnavailable) && ctx.Err() == nil:
		s.failing(ctx, addr)
	}
}

// failing begins the failover from the member at addr, which has not replied, unless the directory has
// other owners already.
func (s *spans) failing(ctx context.Context, addr string) {
	if s.Tracer == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failovers != nil && s.failovers[addr] == nil && s.owns(addr) {
		s.failovers[addr] = s.Note(ctx, "failover", slog.String("member", addr))
	}
}

// moved ends the failovers from members that own nothing now, by the directory.
func (s *spans) moved() {
	if s.Tracer == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for addr := range s.failovers {
		if !s.owns(addr) {
			s.end(addr, nil)
		}
	}
}

// close ends every failover.
func (s *spans) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for addr := range s.failovers {
		s.end(addr, sequencer.ErrClosed)
	}
	s.failovers = nil
}

// end ends the failover from the member at addr. mu must be held.
func (s *spans) end(addr string, err error) {
	if end := s.failovers[addr]; end != nil {
		end(err)
		delete(s.failovers, addr)
	}
}

// renewing begins the span of one renewal.
func (s *spans) renewing(ctx context.Context, call *session.Renewal) (end func(error)) {
	return s.Note(ctx, "renew", slog.String("member", call.Owner), slog.Int("claims", len(call.Claims)),
		slog.Int("sets", len(call.Sets)))
}
