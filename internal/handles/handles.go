// Package handles is shared by the grid client and the store client. The two differ in how they
// create, renew and release a handle. This package keeps one handle per name, runs creates and
// opens for one name one at a time, combines handles into a Striped, limits the releases in
// progress, closes everything with the client, and has the process's clock:
//
//	Registry  one handle per name, and stripes
//	Keeper    implemented by the client: renews and releases attachments
//	Tasks     the client's calls and goroutines
//	Releases  attachments that are being released
//	Names     names whose handles serve POST /v1/ids
//	Turns     the bound on concurrent callers for each key
//	Clock     cluster time between two answers
package handles

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Registry contains a client's handles: one per name, and stripes. S is the client's own state for
// a handle.
type Registry[S any] struct {
	tasks  *Tasks
	keeper Keeper[S]
	turns  Turns[string] // for creates, opens and forgets

	mu      sync.Mutex // never held while waiting, nor while the keeper is called
	closed  bool
	byName  map[string]*Entry[S]
	stripes []*Entry[S] // of all Striped handles; a name may have several
	past    Counts      // dropped handles
}

// Entry is one handle.
type Entry[S any] struct {
	Control *attachment.Control
	State   S    // the client's; the registry does not access it
	Stripe  bool // the handle belongs to a Striped
	// Owed reports that Create has yet to attach the handle. The name's turn guards it.
	Owed bool
}

// Keeper renews and releases the attachments of a client's handles. Its methods do not wait.
type Keeper[S any] interface {
	// AttachFailed records that the handle's user has no attachment for now.
	AttachFailed(e *Entry[S])
	// Return gives an attachment back in the background.
	Return(ref attachment.Ref, rel attachment.Release)
	// Remove forgets handles that their user has given up.
	Remove(gone []*Entry[S])
}

// New returns a registry for a client with these tasks.
func New[S any](tasks *Tasks, keeper Keeper[S]) *Registry[S] {
	return &Registry[S]{tasks: tasks, keeper: keeper, byName: map[string]*Entry[S]{}}
}

// Create returns the handle for a definition's name, and attaches it if Owed. If there is none,
// make creates it and puts it into the registry. If only the attach fails, the handle is returned
// in addition to the error; the next Create tries again.
//
// Errors: from make; as [sequencer.Sequencer.AttachLogicalNode]; sequencer.ErrConflict if the
// process has the name with another definition; ErrClosed; and, when ctx ends, an error that
// matches ctx.Err() and ErrUnavailable.
func (r *Registry[S]) Create(ctx context.Context, def sequencer.Definition,
	make func() (*Entry[S], error)) (*sequencer.Sequencer, error) {
	e, give, err := r.take(ctx, def.Name(), make)
	if err != nil {
		return nil, err
	}
	defer give()
	h := e.Control.Handle()
	if have := h.Definition(); have != def {
		return nil, failure.Errorf(sequencer.ErrConflict,
			"sequencer %q: conflicting definition: it exists with %v, requested was %v; use the existing definition, or "+
				"another name",
			def.Name(), have, def)
	}
	if !e.Owed {
		return h, nil
	}
	if err := h.AttachLogicalNode(ctx); err != nil && !errors.Is(err, sequencer.ErrAttached) {
		r.keeper.AttachFailed(e)
		return h, err
	}
	e.Owed = false
	return h, nil
}

// Open returns a name's handle unchanged. If there is none, make creates it and puts it into the
// registry.
//
// Errors: from make; sequencer.ErrClosed; and, when ctx ends, an error that matches ctx.Err() and
// ErrUnavailable.
func (r *Registry[S]) Open(ctx context.Context, name string,
	make func() (*Entry[S], error)) (*sequencer.Sequencer, error) {
	e, give, err := r.take(ctx, name, make)
	if err != nil {
		return nil, err
	}
	defer give()
	e.Owed = false
	return e.Control.Handle(), nil
}

// Forget ends a name's handle and releases its logical node. A name without a handle is ignored.
//
// Errors: as [sequencer.Sequencer.DetachLogicalNode], except errors that report a handle without a
// node; sequencer.ErrClosed; and, when ctx ends, an error that matches ctx.Err() and
// ErrUnavailable.
func (r *Registry[S]) Forget(ctx context.Context, name string) error {
	e, give, err := r.take(ctx, name, func() (*Entry[S], error) { return nil, nil })
	if err != nil {
		return err
	}
	defer give()
	if e == nil {
		return nil
	}
	return r.giveBack(ctx, []*Entry[S]{e})
}

// take waits for a name's turn and returns its handle, created by make if there is none. The caller
// must call give at its end unless there is an error.
func (r *Registry[S]) take(ctx context.Context, name string, make func() (*Entry[S], error)) (e *Entry[S], give func(),
	err error) {
	if err := r.tasks.Err(); err != nil {
		return nil, nil, err
	}
	if give, err = r.turns.Take(ctx, name, 1); err != nil {
		return nil, nil, failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: another call is creating it: %w", name, err)
	}
	if e = r.Live(name); e == nil {
		if e, err = make(); err != nil {
			give()
			return nil, nil, err
		}
	}
	return e, give, nil
}

// Live returns a name's handle unless there is none or it is Destroyed.
func (r *Registry[S]) Live(name string) *Entry[S] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.byName[name]; e != nil && e.Control.Handle().State() != sequencer.Destroyed {
		return e
	}
	return nil
}

// Put adds a handle, which is its name's unless it is a stripe.
//
// Errors: sequencer.ErrClosed.
func (r *Registry[S]) Put(e *Entry[S]) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.tasks.Err()
	}
	if e.Stripe {
		r.stripes = append(r.stripes, e)
	} else {
		name := e.Control.Handle().Name()
		if old := r.byName[name]; old != nil {
			r.past.add(old.Control.Handle().Stats())
		}
		r.byName[name] = e
	}
	return nil
}

// Drop forgets a handle.
func (r *Registry[S]) Drop(control *attachment.Control) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := control.Handle().Name()
	if e := r.byName[name]; e != nil && e.Control == control {
		r.past.add(control.Handle().Stats())
		delete(r.byName, name)
	}
	r.stripes = slices.DeleteFunc(r.stripes, func(e *Entry[S]) bool {
		dropped := e.Control == control
		if dropped {
			r.past.add(control.Handle().Stats())
		}
		return dropped
	})
}

// All returns every handle.
func (r *Registry[S]) All() []*Entry[S] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all()
}

func (r *Registry[S]) all() []*Entry[S] {
	return slices.AppendSeq(slices.Clone(r.stripes), maps.Values(r.byName))
}

// Close ends the client's tasks and every handle, and returns when no task is left.
func (r *Registry[S]) Close() {
	r.tasks.Close()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for _, e := range r.All() {
		e.Control.Close()
	}
	r.tasks.Wait()
}

// Counts are totals over some handles.
type Counts struct {
	IDs         uint64 // issued
	GrantWaits  uint64 // calls that had to wait for a grant
	GrantWaited time.Duration
}

func (c *Counts) add(s sequencer.Stats) {
	c.IDs += s.IDs
	c.GrantWaits += s.GrantWaits
	c.GrantWaited += s.GrantWaited
}

// Counted returns every handle, and the counts for dropped handles. Each handle is in exactly one
// result, so that a client's total never decreases.
func (r *Registry[S]) Counted() (all []*Entry[S], past Counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all(), r.past
}
