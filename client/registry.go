package client

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/sequencer"
)

// registry is every handle of a client: one per name, and stripes.
type registry struct {
	mu      sync.Mutex // never held while waiting
	closed  bool
	byName  map[string]*entry
	stripes []*entry // of all Striped handles, of which a name may have several
	turns   map[string]*turn
}

// entry is one handle.
type entry struct {
	control *sequencer.Control
	session *session.Handle
	stripe  bool // it is part of a Striped
	// owed says that CreateSequencer has yet to attach the handle.
	owed bool // guarded by the name's turn
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
		return nil, failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: another call is creating it: %w", name, ctx.Err())
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

// put adds a handle, which is its name's unless it is a stripe; false if the
// registry was closed.
func (r *registry) put(e *entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if e.stripe {
		r.stripes = append(r.stripes, e)
	} else {
		r.byName[e.control.Handle().Name()] = e
	}
	return true
}

// forget drops a handle.
func (r *registry) forget(control *sequencer.Control) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := control.Handle().Name()
	if e := r.byName[name]; e != nil && e.control == control {
		delete(r.byName, name)
	}
	r.stripes = slices.DeleteFunc(r.stripes, func(e *entry) bool { return e.control == control })
}

// all returns every handle.
func (r *registry) all() []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.copy()
}

// close refuses handles from now on and returns those there are.
func (r *registry) close() []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.copy()
}

// copy is all with mu held.
func (r *registry) copy() []*entry {
	return slices.AppendSeq(slices.Clone(r.stripes), maps.Values(r.byName))
}

// begin adds a goroutine to wg unless the registry was closed, after which
// another goroutine may be waiting for wg.
func (r *registry) begin(wg *sync.WaitGroup) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		wg.Add(1)
	}
	return !r.closed
}
