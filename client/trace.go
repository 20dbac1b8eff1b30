package client

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/tracing"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// spans are a client's spans; see Config.Trace.
type spans struct {
	*tracing.Tracer
	owns func(addr string) bool // whether the member at addr owns a partition, by the directory

	mu        sync.Mutex
	failovers map[string]*failover // by the address of the member; nil when closed
	over      map[string]bool      // members whose failover was over when it was noticed
}

// failover is the open span of a member's failover.
type failover struct {
	end     func(error)
	forgets *time.Timer // ends it if nothing shows its outcome
}

const (
	// failoverMax is the longest time for which a failover is open.
	failoverMax = time.Minute
	// overMax bounds the members that are remembered.
	overMax = 100
)

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
		s.failed(ctx, addr)
	}
}

// failed begins the failover from the member at addr, which has not replied. It ends immediately if the
// directory has others in its place already: a silent owner is noticed in that way.
func (s *spans) failed(ctx context.Context, addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failovers == nil || s.failovers[addr] != nil || s.over[addr] {
		return
	}
	end := s.Note(ctx, "failover", slog.String("member", addr))
	if !s.owns(addr) {
		end(nil)
		if len(s.over) == overMax {
			clear(s.over)
		}
		s.over[addr] = true
		return
	}
	f := &failover{end: end}
	f.forgets = time.AfterFunc(failoverMax, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failovers[addr] == f {
			s.end(addr, failure.Errorf(sequencer.ErrUnavailable, "client: the member at %s was not replaced within %v", addr,
				failoverMax))
		}
	})
	s.failovers[addr] = f
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
	maps.DeleteFunc(s.over, func(addr string, _ bool) bool { return s.owns(addr) })
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
	if f := s.failovers[addr]; f != nil {
		f.forgets.Stop()
		f.end(err)
		delete(s.failovers, addr)
	}
}
