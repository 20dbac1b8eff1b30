package sim

import (
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/session"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Drives the session machine, like package client: effects become calls over the network, and
// replies become events.

// do passes an event to the machine and applies its effects.
func (h *holder) do(event func(m *session.Machine, now session.Now)) {
	event(h.machine, h.sessionNow())
	h.apply()
	h.lookAt(h.w.now)
}

func (h *holder) sessionNow() session.Now { return session.Now{Mono: h.Mono(), Time: h.Now()} }

// lookAt schedules the machine's next run at a world time, or earlier.
func (h *holder) lookAt(at time.Duration) {
	if h.looking >= 0 && h.looking <= at {
		return
	}
	h.looking = at
	h.after(at-h.w.now, func() {
		if h.looking != at {
			return
		}
		h.looking = -1
		next, due := h.machine.Look(h.sessionNow())
		h.apply()
		if due {
			h.lookAt(h.w.now + h.untilMono(next))
		}
	})
}

// apply executes the machine's effects.
func (h *holder) apply() {
	for e := h.machine.Take(); !e.Empty(); e = h.machine.Take() {
		if e.Forget {
			h.time = clustertime.ClusterTime{}
		}
		h.Sample(e.Time)
		for _, x := range e.Extend {
			x.Handle.Control.Renewed(x.ID, x.Grant)
			if of := h.entryOf(x.Handle.Control); of != nil {
				of.granted(x.ID, x.Grant)
			}
		}
		for _, l := range e.Lapse {
			l.Handle.Control.Lapse(l.ID)
		}
		for _, s := range e.End {
			h.end(s)
		}
		h.begin(e)
	}
}

// end ends a handle and returns its attachment. The user creates the name again.
func (h *holder) end(s *session.Handle) {
	rel, held := s.Control.Destroy()
	if held {
		h.machine.Return(h.sessionNow(), s.Control.Ref(), rel)
	}
	if e := h.entryOf(s.Control); e != nil {
		h.g.check(h.g.checkEnded(h.name, e.control.Ref()))
		e.drop(rel, held)
	}
}

// begin starts the calls among the machine's effects.
func (h *holder) begin(e session.Effects) {
	for _, s := range e.Detach {
		_ = s.Control.DetachIdle(ended)
		h.do(func(m *session.Machine, _ session.Now) { m.Detached(s) })
	}
	for _, l := range e.Replace {
		h.replace(l)
	}
	for _, r := range e.Renew {
		h.renew(r)
	}
	for _, s := range e.Close {
		h.closeStream(s)
	}
	for _, s := range e.Open {
		h.openStream(s)
	}
	for _, back := range e.Return {
		h.giveBack(back)
	}
	if e.LookUp {
		h.lookUp(e.Since, false, func(error) {
			h.do(func(m *session.Machine, _ session.Now) { m.LookedUp() })
		})
	}
}

// renew makes one call to renew handles.
func (h *holder) renew(r *session.Renewal) {
	callAt(h, r.Owner, session.CallTimeout, func(m *member, reply func(session.Renewed)) {
		m.renew(h, r, reply)
	}, func(a session.Renewed, err error) {
		h.do(func(m *session.Machine, now session.Now) { m.Renewed(now, r, a, err) })
	})
}

// replace tries to get a logical node to replace a lost one.
func (h *holder) replace(l session.Loss) {
	control := l.Handle.Control
	e := h.entryOf(control)
	if e == nil {
		return // its life has ended
	}
	e.askNode(l.Within, func(got *arrived) {
		e.install(control, got, func() error { return control.Replace(ended, l.ID) })
		lost := control.Lost(l.ID)
		h.do(func(m *session.Machine, now session.Now) { m.Replaced(now, l.Handle, lost) })
	})
}

// giveBack sends a release to the owner, and retries until the session would have ended.
func (h *holder) giveBack(back *session.Return) {
	name := back.Ref.Definition.Name()
	ask(h, name, back.End-h.Mono(), func(m *member, reply func(answer[struct{}])) {
		m.detach(h.id, back, reply)
	}, func(struct{}, stamp, error) {})
}

// ask calls a name's owner until it replies or time is up.
func ask[T any](h *holder, name string, patience time.Duration, serve func(m *member, reply func(answer[T])),
	done func(T, stamp, error)) {
	end := h.Mono() + patience
	c := h.machine.NewCall()
	var try func()
	try = func() {
		began := h.Mono()
		tryOwner(h, name, min(session.CallTimeout, end-began), serve, func(a answer[T]) {
			retry, again := c.Tried(h.Mono(), h.machine.Owner(name), a.err)
			if !again || h.Mono() >= end {
				done(a.value, a.stamp, a.err)
				return
			}
			next := func() {
				h.after(retry.Pause, func() {
					if h.Mono() >= end {
						done(a.value, a.stamp, a.err)
						return
					}
					try()
				})
			}
			if retry.LookUp {
				h.lookUp(began, true, func(error) { next() })
			} else {
				next()
			}
		})
	}
	try()
}

// errMoved ends a try when its owner has been replaced.
var errMoved = errors.Join(sequencer.ErrUnavailable, errors.New("sim: another member is the owner"))

// tryOwner calls the owner in the directory once. It abandons a slow call when the directory has
// another owner.
func tryOwner[T any](h *holder, name string, timeout time.Duration, serve func(m *member, reply func(answer[T])),
	done func(answer[T])) {
	addr := h.machine.Owner(name)
	if addr == "" {
		done(answer[T]{err: sequencer.ErrUnavailable})
		return
	}
	open := true
	settle := func(a answer[T]) {
		if open {
			open = false
			done(a)
		}
	}
	var watch func(looks int)
	watch = func(looks int) {
		h.after(session.SlowTry(looks), func() {
			if !open {
				return
			}
			h.lookUp(h.Mono(), true, func(err error) {
				if err == nil && h.machine.Owner(name) != addr {
					settle(answer[T]{err: errMoved})
				} else if open {
					watch(looks + 1)
				}
			})
		})
	}
	watch(0)
	callAt(h, addr, timeout, serve, func(a answer[T], err error) {
		if err != nil {
			a.err = err
		}
		settle(a)
	})
}
