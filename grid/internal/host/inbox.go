package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// An actor's jobs wait in its inbox. A goroutine that adds a job takes the machine if it is free and
// performs all waiting jobs; otherwise the current holder performs them. So the goroutine that has
// read a message also serves it, without waking another one.

// job is something to do with an actor's machine, which it settles. It must not wait.
type job struct {
	serve func(v partition.View)
	// gone, if not nil, is called instead of serve when the tenure has ended.
	gone func()
}

// pumpMax is the number of jobs before a goroutine hands the machine to another one, since it has
// other work.
const pumpMax = 128

// pump does the jobs that wait, unless another goroutine does.
func (o *actor) pump() {
	for len(o.inbox) > 0 && o.mu.TryLock() { // again: a job may come as the last one is done
		if !o.doSome() {
			o.host.life.Background(func(context.Context) { o.pump() })
			return
		}
	}
}

// doSome does the jobs that wait, and reports false if there are too many. mu must be held,
// and is given back.
func (o *actor) doSome() (all bool) {
	defer o.mu.Unlock()
	defer crash()
	for range pumpMax {
		select {
		case j := <-o.inbox:
			o.do(j)
		default:
			return true
		}
	}
	return false
}

// take has the machine do something, as soon as no other goroutine has it.
func (o *actor) take(turn func(v partition.View)) {
	o.mu.Lock()
	func() {
		defer o.mu.Unlock()
		defer crash()
		o.do(job{serve: turn})
	}()
	o.pump()
}

// do does a job. mu must be held.
func (o *actor) do(j job) {
	if o.over {
		if j.gone != nil {
			j.gone()
		}
		return
	}
	v := o.host.view()
	j.serve(v)
	o.count(v)
	if ticks := o.machine.Ticks(); ticks != o.ticks.Load() {
		o.ticks.Store(ticks)
		select {
		case o.nudge <- struct{}{}:
		default:
		}
	}
}

// crash ends the process after a machine's panic: an invariant is broken. The calling goroutine may be
// one with recovered panics, as in the HTTP server, which would block the partition.
func crash() {
	if reason := recover(); reason != nil {
		text := fmt.Sprintf("%v\n%s", reason, debug.Stack())
		go func() { panic(text) }()
		select {}
	}
}

func (o *actor) tryPut(j job) bool {
	select {
	case o.inbox <- j:
		o.pump()
		return true
	default:
		return false
	}
}

func (o *actor) put(ctx context.Context, j job) error {
	select {
	case o.inbox <- j:
		o.pump()
		return nil
	case <-ctx.Done():
		return failure.Errorf(sequencer.ErrUnavailable, "grid: partition %d is busy: %w", o.id, ctx.Err())
	case <-o.tenure.Done():
		return o.gone()
	}
}

// tell passes the machine a job, without waiting.
func (o *actor) tell(j job) {
	if !o.tryPut(j) {
		o.host.life.Background(func(ctx context.Context) { _ = o.put(ctx, j) })
	}
}

// start puts a request to an actor, and does not wait; done is called once with the answer, or when ctx or the
// tenure has ended, and must not wait either. A request whose caller has given up is dropped. stop forgets ctx.
func start[T any](ctx context.Context, o *actor, request func(v partition.View, reply func(T, error)),
	done func(T, wire.Stamp, error)) (stop func() bool) {
	var answered atomic.Bool
	finish := func(value T, s wire.Stamp, err error) {
		if answered.Swap(true) {
			return
		}
		if errors.Is(err, roster.ErrWrongOwner) && o.tenureEnded() {
			err = o.gone()
		}
		done(value, s, err)
	}
	fail := func(err error) {
		var none T
		finish(none, wire.Stamp{}, err)
	}
	served := func(v partition.View) {
		if err := o.refuses(ctx); err != nil {
			fail(err)
			return
		}
		request(v, func(value T, err error) { finish(value, stampOf(v), o.explain(err)) })
	}
	unanswered := func() {
		fail(o.explain(failure.Errorf(sequencer.ErrUnavailable, "grid: partition %d did not answer: %w", o.id, ctx.Err())))
	}
	if own, ok := ctx.(interface{ AfterFunc(f func()) func() bool }); ok {
		stop = own.AfterFunc(unanswered)
	} else {
		stop = context.AfterFunc(ctx, unanswered)
	}
	j := job{serve: served, gone: func() { fail(o.gone()) }}
	if !o.tryPut(j) && !o.host.life.Go(func() {
		if err := o.put(ctx, j); err != nil {
			fail(err)
		}
	}) {
		fail(refusal.ErrClosed)
	}
	return stop
}

func (o *actor) tenureEnded() bool {
	select {
	case <-o.tenure.Done():
		return true
	default:
		return false
	}
}
