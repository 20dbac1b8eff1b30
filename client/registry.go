package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// registry is every handle of a client: one per name.
type registry struct {
	mu     sync.Mutex // never held while waiting
	closed bool
	byName map[string]*entry
	sorted []*entry // all of them by name; nil when one came or went since
	turns  map[string]*turn
}

// entry is one handle and what the session keeps of it.
type entry struct {
	control *sequencer.Control
	// owed says that CreateSequencer has yet to attach the handle.
	owed bool // guarded by the name's turn

	mu   sync.Mutex           // guards what follows; never held while waiting
	seen wire.Stamp           // the last answer about the life
	last sequencer.Attachment // the last answer about an attachment of the handle
	// Prints of the handle: with that attachment, and without any.
	print, bare sequencer.Print
	next        time.Duration // when to renew next, by the client's clock
	busy        bool          // an idle detach or a replacement is under way
}

// turn lets one create or open of a name run at a time.
type turn struct {
	token chan struct{}
	users int
}

func newRegistry() *registry {
	return &registry{byName: map[string]*entry{}, turns: map[string]*turn{}}
}

// lock takes a name's turn.
func (r *registry) lock(ctx context.Context, name string) (unlock func(), err error) {
	r.mu.Lock()
	t := r.turns[name]
	if t == nil {
		t = &turn{token: make(chan struct{}, 1)}
		r.turns[name] = t
	}
	t.users++
	r.mu.Unlock()
	leave := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(r.turns, name)
		}
	}
	select {
	case t.token <- struct{}{}:
		return func() { <-t.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("sequencer %q: %w: another call is creating it: %w", name, sequencer.ErrUnavailable, ctx.Err())
	}
}

// live returns a name's handle unless it is Destroyed.
func (r *registry) live(name string) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.byName[name]; e != nil && e.control.Handle().State() != sequencer.Destroyed {
		return e
	}
	return nil
}

// put makes e its name's handle, false if the registry was closed.
func (r *registry) put(e *entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.byName[e.control.Handle().Name()] = e
		r.sorted = nil
	}
	return !r.closed
}

// forget drops a handle that was destroyed.
func (r *registry) forget(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name := e.control.Handle().Name(); r.byName[name] == e {
		delete(r.byName, name)
		r.sorted = nil
	}
}

// all returns every handle, by ascending name. As long as none comes or goes it is
// the same slice, which nobody writes to.
func (r *registry) all() []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inOrder()
}

// close refuses handles from now on and returns those there are.
func (r *registry) close() []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.inOrder()
}

func (r *registry) inOrder() []*entry {
	if r.sorted == nil {
		r.sorted = make([]*entry, 0, len(r.byName))
		for _, name := range slices.Sorted(maps.Keys(r.byName)) {
			r.sorted = append(r.sorted, r.byName[name])
		}
	}
	return r.sorted
}

// begin adds a goroutine to wg unless the registry was closed, after which
// somebody may be waiting for wg.
func (r *registry) begin(wg *sync.WaitGroup) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		wg.Add(1)
	}
	return !r.closed
}
