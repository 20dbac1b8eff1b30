package client

import (
	"context"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/session"
)

// runner drives the client's session machine, which makes the decisions; see package session. One
// goroutine waits for its deadlines, and calls run in goroutines of their own.
type runner struct {
	c     *Client
	nudge chan struct{} // wakes the machine immediately

	mu      sync.Mutex // never held while waiting
	machine *session.Machine
	streams map[*session.Stream]context.CancelFunc
}

// run calls the machine when something is due, until ctx ends. Without handles it only
// waits for events.
func (r *runner) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var tick <-chan time.Time
		if wait, due := r.look(); due {
			timer.Reset(wait)
			tick = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-r.nudge:
		case <-tick:
		}
	}
}

// look starts everything that is due, and returns the time until the next deadline.
func (r *runner) look() (wait time.Duration, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	next, due := r.machine.Look(now)
	r.apply(now)
	return next - now.Mono, due
}

// do passes an event to the machine and applies its effects.
func (r *runner) do(event func(m *session.Machine, now session.Now)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	event(r.machine, now)
	r.apply(now)
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

func ask[T any](r *runner, question func(m *session.Machine) T) T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return question(r.machine)
}

func (r *runner) now() session.Now {
	return session.Now{Mono: r.c.clock.Mono(), Time: r.c.clock.Now()}
}

// apply carries out the machine's effects. mu must be held, so that handles change in the machine's
// order.
func (r *runner) apply(now session.Now) {
	c := r.c
	for e := r.machine.Take(); !e.Empty(); e = r.machine.Take() {
		if e.Forget {
			c.clock.Forget()
		}
		c.clock.Sample(e.Time)
		for _, x := range e.Extend {
			x.Handle.Control.Renewed(x.ID, x.Grant)
		}
		for _, x := range e.Refuse {
			x.Handle.Control.Refuse(x.ID, x.Err)
		}
		if refused := e.Refuse; len(refused) > 0 {
			c.tasks.Go(func(context.Context) { // a line may wait for its log
				for _, x := range refused {
					c.log.Warn("renewal denied; the handle issues IDs until its grant ends, and retries", "sequencer",
						x.Handle.Control.Handle().Name(), "error", x.Err)
				}
			})
		}
		for _, l := range e.Lapse {
			l.Handle.Control.Lapse(l.ID)
		}
		for _, h := range e.End { // its life has ended; the next one need not count the node as used up
			c.handles.Drop(h.Control)
			c.memory.gone(h.Control, true)
			if rel, held := h.Control.Destroy(); held {
				r.machine.Return(now, h.Control.Ref(), rel)
			}
		}
		r.begin(e)
	}
}

// begin starts the calls among the machine's effects. mu must be held.
func (r *runner) begin(e session.Effects) {
	for _, h := range e.Detach {
		r.c.tasks.Go(func(ctx context.Context) {
			handles.DetachIdle(ctx, h.Control, session.CallTimeout, r.c.log)
			r.do(func(m *session.Machine, _ session.Now) { m.Detached(h) })
		})
	}
	for _, l := range e.Replace {
		r.c.tasks.Go(func(ctx context.Context) { r.replace(ctx, l) })
	}
	for _, call := range e.Renew {
		r.c.tasks.Go(func(ctx context.Context) { r.renew(ctx, call) })
	}
	for _, s := range e.Close {
		r.streams[s]()
		delete(r.streams, s)
	}
	for _, s := range e.Open {
		ctx, stop := context.WithCancel(r.c.tasks.Context())
		r.streams[s] = stop
		r.c.tasks.Go(func(context.Context) { r.listen(ctx, s) })
	}
	for _, back := range e.Return {
		r.c.releases.Add(func(ctx context.Context) { r.giveBack(ctx, back) })
	}
	if e.LookUp {
		r.c.tasks.Go(func(ctx context.Context) {
			_ = r.c.lookUp(ctx, e.Since, false)
			r.do(func(m *session.Machine, _ session.Now) { m.LookedUp() })
		})
	}
}

// replace tries to get a logical node in place of a lost one.
func (r *runner) replace(ctx context.Context, l session.Loss) {
	ctx, cancel := context.WithTimeout(ctx, l.Within)
	defer cancel()
	err := l.Handle.Control.Replace(ctx, l.ID)
	lost := err != nil && l.Handle.Control.Lost(l.ID)
	if l.Try == 1 {
		r.c.counts.nodesLost.Add(1)
	}
	log := r.c.log.With("sequencer", l.Handle.Control.Handle().Name())
	switch {
	case lost && l.Try == 1:
		log.Warn("logical node lost; waiting for another", "error", err)
	case !lost && l.Try > 1:
		log.Info("logical node no longer awaited", "state", l.Handle.Control.Handle().State().String())
	}
	r.do(func(m *session.Machine, now session.Now) { m.Replaced(now, l.Handle, lost) })
}

// giveBack releases an attachment, and retries until its session would have ended anyway.
func (r *runner) giveBack(ctx context.Context, back *session.Return) {
	ctx, cancel := context.WithTimeout(ctx, back.End-r.c.clock.Mono())
	defer cancel()
	if err := r.c.release(ctx, back.Ref, back.Release, session.Used{}); err != nil && !handles.Settled(err) {
		r.c.log.Warn("logical node not released; the grid reclaims it when the session has ended",
			"sequencer", back.Ref.Definition.Name(), "node", back.Release.Node, "error", err)
	}
}

// AttachFailed implements handles.Keeper: the handle is registered with the owner without an
// attachment.
func (r *runner) AttachFailed(e *entry) {
	r.do(func(m *session.Machine, now session.Now) { m.AttachFailed(now, e.State) })
}

// Return implements handles.Keeper.
func (r *runner) Return(ref attachment.Ref, rel attachment.Release) {
	r.do(func(m *session.Machine, now session.Now) { m.Return(now, ref, rel) })
}

// Remove implements handles.Keeper.
func (r *runner) Remove(gone []*entry) {
	for _, e := range gone {
		r.c.memory.gone(e.Control, false)
	}
	r.do(func(m *session.Machine, _ session.Now) {
		for _, e := range gone {
			m.Remove(e.State)
		}
	})
}
