package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// hooked is a store in memory with hooks. Functions that are nil do nothing.
type hooked struct {
	*Memory
	before func(ctx context.Context, call, key string) error // of every call
	after  func(ctx context.Context, call, key string) error // of every call that succeeded
	swaps  atomic.Int64

	hooks sync.Mutex
}

// setBefore changes the hook of a store in use.
func (h *hooked) setBefore(before func(ctx context.Context, call, key string) error) {
	h.hooks.Lock()
	defer h.hooks.Unlock()
	h.before = before
}

func (h *hooked) run(ctx context.Context, call, key string, f func() error) error {
	h.hooks.Lock()
	before := h.before
	h.hooks.Unlock()
	if before != nil {
		if err := before(ctx, call, key); err != nil {
			return err
		}
	}
	if err := f(); err != nil || h.after == nil {
		return err
	}
	return h.after(ctx, call, key)
}

func (h *hooked) Load(ctx context.Context, key string) (e Entry, err error) {
	err = h.run(ctx, "load", key, func() error { e, err = h.Memory.Load(ctx, key); return err })
	return e, err
}

func (h *hooked) Swap(ctx context.Context, e Entry) (r Revision, err error) {
	h.swaps.Add(1)
	err = h.run(ctx, "swap", e.Key, func() error { r, err = h.Memory.Swap(ctx, e); return err })
	return r, err
}

func (h *hooked) List(ctx context.Context, prefix string) (all []Entry, err error) {
	err = h.run(ctx, "list", prefix, func() error { all, err = h.Memory.List(ctx, prefix); return err })
	return all, err
}

var errAway = errors.New("the store is away")

// switchable returns a store that is away while the switch is on.
func switchable() (*hooked, *atomic.Bool) {
	var away atomic.Bool
	return &hooked{Memory: NewMemory(), before: func(context.Context, string, string) error {
		if away.Load() {
			return errAway
		}
		return nil
	}}, &away
}

// dated is a store with a clock.
type dated struct {
	*Memory
	now func() time.Time
}

func (d dated) Time() (time.Time, time.Duration, bool) { return d.now(), time.Second, true }

// watched is a store that tells of changes.
type watched struct {
	*hooked
	mu       sync.Mutex
	watchers []chan string
}

func newWatched() *watched {
	w := &watched{hooked: &hooked{Memory: NewMemory()}}
	w.after = func(_ context.Context, call, key string) error {
		if call == "swap" {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, c := range w.watchers {
				c <- key
			}
		}
		return nil
	}
	return w
}

func (w *watched) Watch(ctx context.Context, _ string) (<-chan string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in, out := make(chan string, 9999), make(chan string)
	w.watchers = append(w.watchers, in)
	go func() {
		defer close(out)
		for {
			select {
			case key := <-in:
				select {
				case out <- key:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// servers is a store whose server is replaced by name.
type servers struct {
	*Memory
	lossy bool
	name  atomic.Pointer[string]
	// onGeneration is called after the generation was read.
	onGeneration func()
}

func (s *servers) Generation(context.Context) (string, bool, error) {
	name := *s.name.Load()
	if s.onGeneration != nil {
		s.onGeneration()
	}
	return name, s.lossy, nil
}

func (s *servers) SwapIn(ctx context.Context, e Entry, generation string) (Revision, error) {
	if *s.name.Load() != generation {
		return "", ErrChanged
	}
	return s.Swap(ctx, e)
}
