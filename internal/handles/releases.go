package handles

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/internal/signal"
)

// ReleasesMax bounds one client's concurrent releases. A grid member accepts 8 calls per
// connection. With many more, it rejects some before the client has received another connection's
// limit, and net/http repeats them only after a second.
const ReleasesMax = 16

// Releases give back attachments for which no caller waits, a few concurrently. There
// are many when many sequencers are destroyed.
type Releases struct {
	tasks *Tasks

	mu      sync.Mutex // never held while waiting
	waiting []func(context.Context)
	running int
	none    signal.Broadcast // sent when none is left
}

// NewReleases returns the releases for the client with these tasks.
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

// next returns the release to run after a finished one, nil if none waits.
func (r *Releases) next() func(context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) > 0 {
		first := r.waiting[0]
		r.waiting = r.waiting[1:]
		return first
	}
	if r.running--; r.running == 0 {
		r.none.Send()
	}
	return nil
}

func (r *Releases) inProgress() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running > 0
}

// Await returns when no release is left, or when ctx or the client has ended.
//
// Errors: ctx.Err(), and sequencer.ErrClosed.
func (r *Releases) Await(ctx context.Context) error {
	none := r.none.Wait()
	if !r.inProgress() {
		return nil
	}
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.tasks.Context().Done():
		return r.tasks.Err()
	}
}
