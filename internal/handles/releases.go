package handles

import (
	"context"
	"sync"
)

// ReleasesMax bounds the releases of one client that run concurrently. A member of a grid
// takes 8 calls of one connection; with far more than that, some are refused before the
// client knows of another connection's limit, and net/http sends those again after a
// second only.
const ReleasesMax = 16

// Releases give back attachments for which no caller waits, a few concurrently. There
// are many when many sequencers are destroyed.
type Releases struct {
	tasks *Tasks

	mu      sync.Mutex // never held while waiting
	waiting []func(context.Context)
	running int
	none    chan struct{} // closed when none is left; nil while unused
}

// NewReleases returns the releases of the client that has the tasks.
func NewReleases(tasks *Tasks) *Releases { return &Releases{tasks: tasks} }

// Add has release called, after those added before. Its ctx ends with the client.
func (r *Releases) Add(release func(ctx context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == ReleasesMax {
		r.waiting = append(r.waiting, release)
		return
	}
	r.running++
	r.tasks.Go(func(ctx context.Context) {
		for release != nil {
			release(ctx)
			release = r.next()
		}
	})
}

// next returns the release to run after one that is done, nil if none waits.
func (r *Releases) next() func(context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) > 0 {
		first := r.waiting[0]
		r.waiting = r.waiting[1:]
		return first
	}
	if r.running--; r.running == 0 && r.none != nil {
		close(r.none)
		r.none = nil
	}
	return nil
}

// inProgress reports whether a release is left.
func (r *Releases) inProgress() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running > 0
}

// Await returns when no release is left, or when ctx or the client has ended.
//
// Errors: ctx.Err(), and sequencer.ErrClosed.
func (r *Releases) Await(ctx context.Context) error {
	r.mu.Lock()
	if r.running == 0 {
		r.mu.Unlock()
		return nil
	}
	if r.none == nil {
		r.none = make(chan struct{})
	}
	none := r.none
	r.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.tasks.Context().Done():
		return r.tasks.Err()
	}
}
