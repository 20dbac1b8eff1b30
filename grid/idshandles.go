package grid

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/client"

	"github.com/snowgrid/snowgrid/grid/internal/signal"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// idsHandlesMax is how many names POST /v1/ids keeps a handle for, besides those that are
// being asked for at the moment. A name beyond it takes the place of the one that was asked
// for longest ago, which is opened again when it is asked for.
const idsHandlesMax = 1024

// idsHandles records which names POST /v1/ids has a handle for, and decides which handles
// end. It has no clock: callers say what time it is. Its zero value is ready.
type idsHandles struct {
	mu    sync.Mutex // never held while waiting
	names map[string]*idsHandle
}

// idsHandle is one name of idsHandles.
type idsHandle struct {
	requests int           // under way
	last     time.Duration // when the last one ended
	open     bool          // some request found the sequencer
}

// enter notes a request for a name; each is ended by leave.
func (h *idsHandles) enter(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names == nil {
		h.names = map[string]*idsHandle{}
	}
	if h.names[name] == nil {
		h.names[name] = &idsHandle{}
	}
	h.names[name].requests++
}

// leave ends a request at now, which found the sequencer or not, and returns the names
// whose handles end because there are too many.
func (h *idsHandles) leave(name string, found bool, now time.Duration) (surplus []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.names[name]
	e.requests--
	e.last, e.open = now, e.open || found
	if e.requests == 0 && !e.open {
		delete(h.names, name)
	}
	for len(h.names) > idsHandlesMax {
		oldest, found := h.oldest()
		if !found {
			break // all are being asked for
		}
		delete(h.names, oldest)
		surplus = append(surplus, oldest)
	}
	return surplus
}

// oldest returns the name without a request that was asked for longest ago. The caller
// holds mu.
func (h *idsHandles) oldest() (name string, found bool) {
	for n, e := range h.names {
		if e.requests == 0 && (!found || e.last < h.names[name].last) {
			name, found = n, true
		}
	}
	return name, found
}

// idle returns the names that were last asked for at or before by; their handles end.
func (h *idsHandles) idle(by time.Duration) (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, e := range h.names {
		if e.requests == 0 && e.last <= by {
			delete(h.names, name)
			names = append(names, name)
		}
	}
	return names
}

// serveCountedIDs is serveIDs, with the handle counted.
func (m *Member) serveCountedIDs(ctx context.Context, in wire.IDsRequest) (wire.IDsResponse, error) {
	if err := checkName(in.Name); err != nil {
		return wire.IDsResponse{}, err
	}
	m.forIDs.enter(in.Name)
	out, err := m.serveIDs(ctx, in)
	found := !errors.Is(err, sequencer.ErrNotFound) && !errors.Is(err, sequencer.ErrInvalidConfig) && !errors.Is(err, wire.ErrBadRequest)
	for _, name := range m.forIDs.leave(in.Name, found, m.clock.Mono()) {
		endIDs(ctx, m.idsClient(), name)
	}
	return out, err
}

// endIdleIDs ends the handles that nothing asks for any longer, until ctx ends.
func (m *Member) endIdleIDs(ctx context.Context, c *client.Client) {
	for ctx.Err() == nil {
		signal.Sleep(ctx, idsIdle/4)
		for _, name := range m.forIDs.idle(m.clock.Mono() - idsIdle) {
			endIDs(ctx, c, name)
		}
	}
}

// endIDs ends the handle that serves a name. A logical node that cannot be given back now
// is given back in the background, or taken when its session ends.
func endIDs(ctx context.Context, c *client.Client, name string) {
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, memberCalls)
	defer cancel()
	_ = c.Forget(ctx, name)
}
