package handles

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

// stripesAtOnce is the number of stripes attached or released concurrently. It is less than
// ReleasesMax, since all calls go to one owner or store.
const stripesAtOnce = 8

// Striped returns a handle over several stripes, which make creates and puts into the registry. If
// an attach fails, it releases the attached ones and fails.
//
// Errors: from make, and as [sequencer.Sequencer.AttachLogicalNode].
func (r *Registry[S]) Striped(ctx context.Context, stripes int,
	make func() (*Entry[S], error)) (*sequencer.Striped, error) {
	var made []*Entry[S]
	var handles []*sequencer.Sequencer
	for range stripes {
		e, err := make()
		if err != nil {
			return nil, err // Close has ended those before
		}
		made, handles = append(made, e), append(handles, e.Control.Handle())
	}
	err := together(made, func(e *Entry[S]) error { return e.Control.Handle().AttachLogicalNode(ctx) })
	if err != nil {
		_ = r.giveBack(ctx, made) // a failure is retried in the background
		return nil, fmt.Errorf("%s: not all of %d stripes have a logical node: %w", r.tasks.pkg, stripes, err)
	}
	return attachment.NewStriped(handles, r.leaver(made))
}

// leaver returns a function that ends stripes, once.
func (r *Registry[S]) leaver(stripes []*Entry[S]) func(context.Context) error {
	var left atomic.Bool
	return func(ctx context.Context) error {
		if r.tasks.Err() != nil || left.Swap(true) {
			return fmt.Errorf("%s: %w", r.tasks.pkg, sequencer.ErrClosed)
		}
		return r.giveBack(ctx, stripes)
	}
}

// giveBack releases the handles' logical nodes and ends the handles.
func (r *Registry[S]) giveBack(ctx context.Context, gone []*Entry[S]) error {
	err := together(gone, func(e *Entry[S]) error {
		err := e.Control.Handle().DetachLogicalNode(ctx)
		if rel, held := e.Control.Close(); held { // it was being replaced until ctx ended
			r.keeper.Return(e.Control.Ref(), rel)
		}
		if Settled(err) {
			return nil
		}
		return err
	})
	for _, e := range gone {
		r.Drop(e.Control)
	}
	r.keeper.Remove(gone)
	return err
}

// together calls f for each entry, several concurrently, and returns the first error in entry
// order.
func together[S any](entries []*Entry[S], f func(*Entry[S]) error) error {
	errs := make([]error, len(entries))
	var all sync.WaitGroup
	for first := range min(stripesAtOnce, len(entries)) {
		all.Go(func() {
			for i := first; i < len(entries); i += stripesAtOnce {
				errs[i] = f(entries[i])
			}
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}
