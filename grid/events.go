package grid

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// eventQueue is how many events a stream may have waiting. A holder that does
// not take them in time loses the stream, and learns what it missed from the
// answers to the renewals with which it opens the next.
const eventQueue = 1024

// events is the member's open event streams, one per holder.
type events struct {
	mu      sync.Mutex // never held while waiting
	streams map[sequencer.HolderID]*stream
}

// stream is one holder's events on their way. done is closed when it has ended.
type stream struct {
	queue chan wire.Event
	ctx   context.Context
	end   context.CancelFunc
}

func newEvents() *events { return &events{streams: map[sequencer.HolderID]*stream{}} }

// open begins a holder's stream with the event that says so, ending an earlier
// stream of the same holder. It ends with ctx, and frees its place then.
func (e *events) open(ctx context.Context, h sequencer.HolderID) *stream {
	ctx, end := context.WithCancel(ctx)
	s := &stream{queue: make(chan wire.Event, eventQueue), ctx: ctx, end: end}
	s.queue <- wire.Event{}
	e.mu.Lock()
	defer e.mu.Unlock()
	if old := e.streams[h]; old != nil {
		old.end()
	}
	e.streams[h] = s
	context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.streams[h] == s {
			delete(e.streams, h)
		}
	})
	return s
}

// publish sends an event to holders that have a stream.
func (e *events) publish(holders []sequencer.HolderID, event wire.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range holders {
		s := e.streams[h]
		if s == nil {
			continue
		}
		select {
		case s.queue <- event:
		default:
			s.end()
		}
	}
}

// Next waits for the next event.
func (s *stream) Next() (wire.Event, error) {
	select {
	case event := <-s.queue:
		return event, nil
	case <-s.ctx.Done():
		return wire.Event{}, s.ctx.Err()
	}
}

// Close ends the stream.
func (s *stream) Close() error {
	s.end()
	return nil
}
