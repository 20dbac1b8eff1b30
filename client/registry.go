package client

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// registry is every handle of a client: one per name, and stripes.
type registry struct {
	mu      sync.Mutex // never held while waiting
	closed  bool
	byName  map[string]*entry
	stripes []*entry // of all Striped handles, of which a name may have several
	sorted  []*entry // all of them by name; nil when one came or went since
	turns   map[string]*turn
}

// entry is one handle and what the session keeps of it.
type entry struct {
	control *sequencer.Control
	stripe  bool // it is part of a Striped
	// owed says that CreateSequencer has yet to attach the handle.
	owed bool // guarded by the name's turn

	mu   sync.Mutex           // guards what follows; never held while waiting
	seen wire.Stamp           // the last answer about the life
	last sequencer.Attachment // the last answer about an attachment of the handle
	// Prints of the handle: with that attachment, and without any.
	print, bare sequencer.Print
	next        time.Duration // when to renew next, by the client's clock
	failures    int           // of renewals, in succession
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
	r.sorted = nil
	return true
}

// forget drops handles.
func (r *registry) forget(gone []*entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(gone)
}

// forgetLife drops all handles on a life that has ended, and returns them.
func (r *registry) forgetLife(name string, life sequencer.Life) []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := r.on(name, life)
	r.drop(gone)
	return gone
}

// on returns the handles on a life. mu must be held.
func (r *registry) on(name string, life sequencer.Life) (out []*entry) {
	for _, e := range r.stripes {
		if ref := e.control.Ref(); ref.Life == life && ref.Definition.Name() == name {
			out = append(out, e)
		}
	}
	if e := r.byName[name]; e != nil && e.control.Ref().Life == life {
		out = append(out, e)
	}
	return out
}

// drop is forget with mu held.
func (r *registry) drop(gone []*entry) {
	for _, e := range gone {
		if name := e.control.Handle().Name(); r.byName[name] == e {
			delete(r.byName, name)
		}
	}
	r.stripes = slices.DeleteFunc(r.stripes, func(e *entry) bool { return slices.Contains(gone, e) })
	r.sorted = nil
}

// all returns every handle, by ascending name. A name's stripes, which are attached,
// come before its own handle: an owner forgets that a holder has a Detached one
// when it is shown an attachment of the name after it. As long as no handle comes or
// goes it is the same slice, which nobody writes to.
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

// inOrder is all with mu held.
func (r *registry) inOrder() []*entry {
	if r.sorted == nil {
		r.sorted = slices.AppendSeq(slices.Clone(r.stripes), maps.Values(r.byName))
		slices.SortStableFunc(r.sorted, func(a, b *entry) int {
			return cmp.Compare(a.control.Handle().Name(), b.control.Handle().Name())
		})
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
