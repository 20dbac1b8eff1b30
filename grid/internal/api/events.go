package api

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// eventQueue limits the events waiting on a stream. A holder that falls behind loses the stream, and
// recovers missed events from the renewals that open the next one.
const eventQueue = 1024

// A holder attaches and opens its stream concurrently. Events for holders without a stream are
// kept for earlyKept, the newest earlyMax of them.
const (
	earlyKept = 5 * time.Second
	earlyMax  = eventQueue / 2
)

// Events is the member's open event streams, one per holder.
type Events struct {
	mu      sync.Mutex // never held while waiting
	streams map[attachment.HolderID]outlet
	peers   map[string]int // streams by the address that they come from, with the certificate or token
	early   []earlyEvent   // oldest first
}

type earlyEvent struct {
	holder attachment.HolderID
	event  wire.Event
	at     time.Time
}

// peerStreams limits the event streams per address and certificate or token, whatever ports and
// holders they use: enough for a machine full of processes. A holder without a stream receives a
// destroy with its next renewal.
const peerStreams = 64

// outlet receives one holder's events. Its methods do not wait.
type outlet interface {
	// put adds an event, or ends an outlet that has too many waiting.
	put(event wire.Event)
	// end ends the outlet, which then leaves the events.
	end()
}

// stream is an outlet that queues events until they are taken.
type stream struct {
	ctx  context.Context
	stop context.CancelFunc
	more chan struct{} // holds one when something was added since the last look

	mu    sync.Mutex   // never held while waiting
	queue []wire.Event // at most eventQueue, oldest first; allocated on demand
}

// NewEvents returns events of no holder.
func NewEvents() *Events {
	return &Events{streams: map[attachment.HolderID]outlet{}, peers: map[string]int{}}
}

// admit counts a stream of a peer in; leave counts it out.
func (e *Events) admit(peer string) (leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.peers[peer] == peerStreams {
		return nil, fmt.Errorf(
			"%w: %s has %d event streams to this member already; without one a holder learns of a destroy by its next renewal",
			sequencer.ErrUnavailable, peer, peerStreams)
	}
	e.peers[peer]++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.peers[peer]--; e.peers[peer] == 0 {
			delete(e.peers, peer)
		}
	}, nil
}

func (e *Events) len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.streams)
}

// open begins a holder's stream, ending an earlier one of the same holder. It ends with ctx,
// and frees its place then.
func (e *Events) open(ctx context.Context, h attachment.HolderID) *stream {
	ctx, stop := context.WithCancel(ctx)
	s := &stream{more: make(chan struct{}, 1), ctx: ctx, stop: stop}
	e.enter(h, s)
	context.AfterFunc(ctx, func() { e.leave(h, s) })
	return s
}

// enter sets a holder's outlet, and ends an earlier one. The first event confirms the stream.
func (e *Events) enter(h attachment.HolderID, s outlet) {
	e.mu.Lock()
	old := e.streams[h]
	s.put(wire.Event{})
	e.streams[h] = s
	for _, early := range e.takeEarly(h) {
		s.put(early)
	}
	e.mu.Unlock()
	if old != nil {
		old.end()
	}
}

func (e *Events) leave(h attachment.HolderID, s outlet) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams[h] == s {
		delete(e.streams, h)
	}
}

// takeEarly returns the events that preceded a holder's stream, and drops expired ones of other
// holders. mu must be held.
func (e *Events) takeEarly(h attachment.HolderID) (out []wire.Event) {
	since := time.Now().Add(-earlyKept)
	e.early = slices.DeleteFunc(e.early, func(k earlyEvent) bool {
		late := k.at.Before(since)
		if k.holder == h && !late {
			out = append(out, k.event)
		}
		return late || k.holder == h
	})
	return out
}

// Publish sends an event to holders. One without a stream gets it when it opens one within
// earlyKept.
func (e *Events) Publish(holders []attachment.HolderID, event wire.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range holders {
		if s := e.streams[h]; s != nil {
			s.put(event)
			continue
		}
		if len(e.early) == earlyMax {
			e.early = slices.Delete(e.early, 0, 1)
		}
		e.early = append(e.early, earlyEvent{h, event, time.Now()})
	}
}

func (s *stream) put(event wire.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == eventQueue {
		s.stop()
		return
	}
	s.queue = append(s.queue, event)
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// take returns the oldest event that waits, if there is one.
func (s *stream) take() (event wire.Event, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.queue = nil
		return wire.Event{}, false
	}
	event, s.queue = s.queue[0], s.queue[1:]
	return event, true
}

// Next waits for the next event. Only one goroutine may call it.
func (s *stream) Next() (wire.Event, error) {
	for s.ctx.Err() == nil {
		if event, found := s.take(); found {
			return event, nil
		}
		select {
		case <-s.more:
		case <-s.ctx.Done():
		}
	}
	return wire.Event{}, s.ctx.Err()
}

func (s *stream) end() { s.stop() }
