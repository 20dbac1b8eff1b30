// Package tenure bounds the work of a member: by the member's life, from its start to its
// close, and within that by its tenure in one grid.
//
//	life    |------------------------------------------------------>| close
//	tenure  |---- no grid, then grid A ----|---- no grid, then B --->|
//
// Nothing of one tenure reaches the next: the roster versions of another grid begin at 1
// again, so a message or an answer of the one would be believed in the other.
package tenure

import (
	"context"
	"sync"
	"sync/atomic"
)

// Life is the time in which a member runs. Its methods may be called from any goroutine.
type Life struct {
	ctx     context.Context
	stop    context.CancelFunc
	current atomic.Pointer[Tenure]

	mu     sync.Mutex // guards closed; never held while waiting
	closed bool
	group  sync.WaitGroup // every goroutine of the member
}

// NewLife returns a life in its first tenure.
func NewLife() *Life {
	l := &Life{}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.Next()
	return l
}

// Context returns a context that ends with the life.
func (l *Life) Context() context.Context { return l.ctx }

// Closed reports whether the life ends or has ended.
func (l *Life) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Close lets no more goroutine begin.
func (l *Life) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// Stop ends the context. Close has to be called before it.
func (l *Life) Stop() { l.stop() }

// Wait returns when every goroutine has ended.
func (l *Life) Wait() { l.group.Wait() }

// Go runs f in a goroutine of the life, and reports false if that is closed.
func (l *Life) Go(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.group.Go(f)
	return true
}

// Background runs f in a goroutine; the current tenure's end cancels its context.
func (l *Life) Background(f func(ctx context.Context)) { l.current.Load().Background(f) }

// Tenure returns the current tenure.
func (l *Life) Tenure() *Tenure { return l.current.Load() }

// Next begins another tenure. The caller has ended the last one.
func (l *Life) Next() {
	t := &Tenure{life: l}
	t.idle.L = &t.mu
	t.ctx, t.cancel = context.WithCancel(l.ctx)
	l.current.Store(t)
}

// Tenure is the time that a member spends in one grid, and before it. All work for the
// grid ends with it.
type Tenure struct {
	life   *Life
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex // guards the fields below
	running int        // goroutines
	idle    sync.Cond  // running has become 0
	ended   bool       // every goroutine has ended
}

// Done is closed when the tenure ends.
func (t *Tenure) Done() <-chan struct{} { return t.ctx.Done() }

// Background runs f in a goroutine; the tenure's end cancels its context. After the end f still runs,
// with a canceled context.
func (t *Tenure) Background(f func(ctx context.Context)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	counted := !t.ended
	began := t.life.Go(func() {
		if counted {
			defer t.leave()
		}
		f(t.ctx)
	})
	if began && counted {
		t.running++
	}
}

func (t *Tenure) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running--; t.running == 0 {
		t.idle.Broadcast()
	}
}

// End ends the tenure's context and returns when each of its goroutines has ended.
func (t *Tenure) End() {
	t.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.running > 0 {
		t.idle.Wait()
	}
	t.ended = true
}

// Key is the key, in the context of a request, of the tenure in which that arrived: a *Tenure.
type Key struct{}

// NewContext returns a context that carries the tenure in which a request arrived.
func NewContext(ctx context.Context, t *Tenure) context.Context {
	return context.WithValue(ctx, Key{}, t)
}

// Elsewhere reports whether a request arrived in another tenure than t. One without a
// tenure, of this process, never did.
func (t *Tenure) Elsewhere(ctx context.Context) bool {
	arrived, carried := ctx.Value(Key{}).(*Tenure)
	return carried && arrived != t
}
