package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// ErrLost is the error of a call after a Faulty has lost its request or reply: the outcome is
// unknown to its caller.
var ErrLost = errors.New("storetest: no answer")

// Faults are the faults that a Faulty injects. Chances are 0 to 1, for each call.
type Faults struct {
	// LoseRequest is the chance that a call fails and is not delivered.
	LoseRequest float64
	// LoseAnswer is the chance that a call is delivered and fails.
	LoseAnswer float64
	// Late is the chance that a swap fails and is delivered after later calls.
	Late float64
	// Repeat is the chance that a swap is delivered, and delivered again after later
	// calls.
	Repeat float64
	// Delay is a call's maximum delay, half of it before its delivery. It ends with the call's
	// context; then the outcome is unknown.
	Delay time.Duration
	// Down makes every call fail, undelivered.
	Down bool
	// IgnoreConditions makes swaps write whatever the revision is, like an object
	// store without conditional writes.
	IgnoreConditions bool
}

// Counts are the faults that a Faulty has injected.
type Counts struct {
	Calls, LostRequests, LostAnswers, Late, Repeated, Ignored int
	// Delivered counts the late or repeated swaps that were delivered, and Landed the written
	// ones.
	Delivered, Landed int
}

// Faulty is a store that passes calls on to another one and injects faults. It hides
// that store's optional interfaces. Use one for each client under test. Its methods may
// be called concurrently.
type Faulty struct {
	under store.Store

	mu      sync.Mutex
	rand    *rand.Rand
	faults  Faults
	counts  Counts
	pending []store.Entry // to be delivered late
	gate    chan struct{} // closed when calls may pass; nil if they may
	before  map[string]func()
}

// NewFaulty returns a store without faults over another one. Equal seeds draw equal
// faults for equal sequences of calls.
func NewFaulty(under store.Store, seed uint64) *Faulty {
	return &Faulty{under: under, rand: rand.New(rand.NewPCG(seed, 0)), before: map[string]func(){}}
}

// Set replaces the faults. Swaps that are to be delivered late still are.
func (f *Faulty) Set(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

// Counts returns the faults so far.
func (f *Faulty) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts
}

// Freeze blocks every call where it is, before or after its delivery and regardless of its context,
// as if its process were stopped, until Thaw.
func (f *Faulty) Freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gate == nil {
		f.gate = make(chan struct{})
	}
}

// Thaw ends Freeze.
func (f *Faulty) Thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gate != nil {
		close(f.gate)
		f.gate = nil
	}
}

// BeforeSwap runs do once, right before the next swap of a key is delivered: for a state
// that another client changes after this one has read it, and changes back.
func (f *Faulty) BeforeSwap(key string, do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before[key] = do
}

// Deliver delivers all swaps that are to be delivered late.
func (f *Faulty) Deliver(ctx context.Context) {
	f.mu.Lock()
	pending := f.pending
	f.pending = nil
	f.mu.Unlock()
	for _, e := range pending {
		f.deliver(ctx, e)
	}
}

// Load implements [store.Store].
func (f *Faulty) Load(ctx context.Context, key string) (e store.Entry, err error) {
	return pass(ctx, f, "load "+key, func() (store.Entry, error) { return f.under.Load(ctx, key) })
}

// List implements [store.Store].
func (f *Faulty) List(ctx context.Context, prefix string) (found []store.Entry, err error) {
	return pass(ctx, f, "list "+prefix, func() ([]store.Entry, error) { return f.under.List(ctx, prefix) })
}

// Swap implements [store.Store].
func (f *Faulty) Swap(ctx context.Context, e store.Entry) (revision store.Revision, err error) {
	e.Body = slices.Clone(e.Body)
	if f.draw(&f.faults.Late, &f.counts.Late) {
		f.begin()
		f.waitGate()
		f.keep(e)
		return "", fmt.Errorf("%w: swap %s", ErrLost, e.Key)
	}
	repeat := f.draw(&f.faults.Repeat, &f.counts.Repeated)
	revision, err = pass(ctx, f, "swap "+e.Key, func() (store.Revision, error) {
		f.mu.Lock()
		do := f.before[e.Key]
		delete(f.before, e.Key)
		f.mu.Unlock()
		if do != nil {
			do()
		}
		return f.swap(ctx, e)
	})
	if repeat {
		f.keep(e)
	}
	return revision, err
}

// swap swaps an entry in the store below, without its condition if so set.
func (f *Faulty) swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	for {
		revision, err := f.under.Swap(ctx, e)
		f.mu.Lock()
		ignore := f.faults.IgnoreConditions && errors.Is(err, store.ErrChanged)
		if ignore {
			f.counts.Ignored++
		}
		f.mu.Unlock()
		if !ignore {
			return revision, err
		}
		have, err := f.under.Load(ctx, e.Key)
		if err != nil && !errors.Is(err, store.ErrNoRecord) {
			return "", err
		}
		e.Revision = have.Revision
	}
}

// pass delivers a call with the faults that are drawn for it.
func pass[T any](ctx context.Context, f *Faulty, call string, deliver func() (T, error)) (T, error) {
	var none T
	f.deliverSome(ctx)
	f.waitGate()
	down, delay := f.begin()
	if down || f.draw(&f.faults.LoseRequest, &f.counts.LostRequests) {
		return none, fmt.Errorf("%w: %s", ErrLost, call)
	}
	if !signal.Sleep(ctx, delay) {
		return none, fmt.Errorf("%w: %s: %w", ErrLost, call, ctx.Err())
	}
	f.waitGate()
	result, err := deliver()
	f.waitGate()
	if f.draw(&f.faults.LoseAnswer, &f.counts.LostAnswers) {
		return none, fmt.Errorf("%w: %s", ErrLost, call)
	}
	if !signal.Sleep(ctx, delay) {
		return none, fmt.Errorf("%w: %s: %w", ErrLost, call, ctx.Err())
	}
	if err != nil {
		return none, err
	}
	return result, nil
}

// begin counts a call, and draws half of its delay.
func (f *Faulty) begin() (down bool, delay time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.Calls++
	if half := f.faults.Delay / 2; half > 0 {
		delay = time.Duration(f.rand.Int64N(int64(half)))
	}
	return f.faults.Down, delay
}

// draw reports whether a fault happens, by its chance among the faults, and counts it.
func (f *Faulty) draw(chance *float64, count *int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *chance <= 0 || f.rand.Float64() >= *chance {
		return false
	}
	*count++
	return true
}

// lateMax bounds the swaps that wait to be delivered late.
const lateMax = 100

// keep stores a swap that is to be delivered late.
func (f *Faulty) keep(e store.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) < lateMax {
		f.pending = append(f.pending, e)
	}
}

// deliverSome delivers one late swap before a third of the calls.
func (f *Faulty) deliverSome(ctx context.Context) {
	f.mu.Lock()
	var e store.Entry
	chosen := len(f.pending) > 0 && f.rand.IntN(3) == 0
	if chosen {
		i := f.rand.IntN(len(f.pending))
		e = f.pending[i]
		f.pending = slices.Delete(f.pending, i, i+1)
	}
	f.mu.Unlock()
	if chosen {
		f.deliver(ctx, e)
	}
}

// deliver delivers a late swap, after its caller has returned.
func (f *Faulty) deliver(ctx context.Context, e store.Entry) {
	_, err := f.swap(context.WithoutCancel(ctx), e)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.Delivered++
	if err == nil {
		f.counts.Landed++
	}
}

// waitGate waits while calls are frozen.
func (f *Faulty) waitGate() {
	for {
		f.mu.Lock()
		gate := f.gate
		f.mu.Unlock()
		if gate == nil {
			return
		}
		<-gate
	}
}
