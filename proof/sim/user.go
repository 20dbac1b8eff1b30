package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/session"

	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Users of handles: they create, attach, rest, detach and destroy.

// wantEvery is the interval between a user's operations.
const wantEvery = 200 * time.Millisecond

// want chooses the next operation for each user at a holder.
func (h *holder) want() {
	h.after(wantEvery, h.want)
	for _, e := range h.entries {
		e.want()
	}
}

// want starts the user's next operation.
func (e *entry) want() {
	h, w := e.h, e.h.w
	calm := h.g.calm
	if calm && e.handle != nil {
		e.handle.DetachWhenIdle(0)
	}
	if e.busy || e.idle > w.now && !calm {
		return
	}
	switch {
	case e.control == nil && w.chance(0.2):
		e.open()
	case e.control == nil:
		e.create()
	case e.handle.State() == sequencer.Destroyed:
		e.drop(attachment.Release{}, false)
	case e.handle.State() == sequencer.Detached:
		e.attach()
	case calm:
	case w.chance(h.g.cfg.Detach):
		e.rest()
	case w.chance(h.g.cfg.Destroy):
		e.destroy()
	}
}

// rest stops generating IDs for a while. The handle is detached immediately, or after it was idle
// for long enough.
func (e *entry) rest() {
	w := e.h.w
	e.idle = w.now + w.between(0, 10*time.Second)
	if w.chance(0.3) {
		e.idle = w.now
	}
	if w.chance(0.4) {
		e.handle.DetachWhenIdle(w.between(0, 5*time.Second))
		return
	}
	e.handle.DetachWhenIdle(0)
	_ = e.handle.DetachLogicalNode(ended)
}

// create creates the name, or gets its current life, and creates a handle.
func (e *entry) create() {
	e.busy = true
	h, name, began, mono := e.h, e.def.Name(), e.h.w.now, e.h.Mono()
	ask(h, name, 5*time.Second, func(m *member, reply func(answer[attachment.Ref])) {
		askOwner(m, name, func(o *actor, v partition.View, reply func(attachment.Ref, error)) {
			// The owner's member draws the life, so a duplicated request has two.
			o.machine.Create(v, attachment.Ref{Definition: e.def, Life: h.g.newLife(o.m)}, reply)
		}, reply)
	}, func(ref attachment.Ref, s stamp, err error) {
		e.busy = false
		if err != nil {
			return
		}
		h.g.check(h.g.promises.checkTold(ref, began, s))
		e.lives++
		e.label = fmt.Sprintf("%s/%d.%d", h.name, e.name, e.lives)
		if e.stripe {
			e.label += "s"
		}
		e.handle, e.control = attachment.New(ref, e, h)
		h.w.note(created, e.label, int64(e.name), int64(s.Version))
		h.do(func(m *session.Machine, now session.Now) {
			m.Stamped(now, s, mono)
			e.session = m.Add(now, e.control, s, h.w.chance(0.5), e.stripe)
		})
	})
}

// open gets the name's life, without using it.
func (e *entry) open() {
	e.busy = true
	h, name, began, mono := e.h, e.def.Name(), e.h.w.now, e.h.Mono()
	ask(h, name, 5*time.Second, func(m *member, reply func(answer[attachment.Ref])) {
		askOwner(m, name, func(o *actor, v partition.View, reply func(attachment.Ref, error)) {
			o.machine.Open(v, name,
				reply)
		}, reply)
	}, func(ref attachment.Ref, s stamp, err error) {
		e.busy = false
		switch {
		case err == nil:
			h.g.check(h.g.promises.checkTold(ref, began, s))
			h.do(func(m *session.Machine, now session.Now) { m.Stamped(now, s, mono) })
		case errors.Is(err, sequencer.ErrNotFound):
			h.g.check(h.g.promises.checkUnknown(name, began, s))
		}
	})
}

// attach requests a logical node for a detached handle.
func (e *entry) attach() {
	e.busy = true
	control := e.control
	window := e.h.g.cfg.Window.Duration()
	e.askNode(e.h.w.between(time.Second, window+time.Second), func(got *arrived) {
		e.busy = false
		e.install(control, got, func() error { return control.Handle().AttachLogicalNode(ended) })
		if got.err != nil && e.control == control {
			e.h.do(func(m *session.Machine, now session.Now) { m.AttachFailed(now, e.session) })
		}
	})
}

// askNode requests a logical node from a small range, so that nodes soon pass to other holders.
func (e *entry) askNode(patience time.Duration, done func(*arrived)) {
	w, g := e.h.w, e.h.g
	p := attachment.Preference{Any: true}
	if w.chance(0.8) {
		p = attachment.Preference{Node: sequencer.NodeID(w.rng.IntN(g.cfg.Nodes))}
		if node, found := g.lastFreed[e.def.Name()]; found && w.chance(0.5) {
			p.Node = node
		}
	}
	c := claimOf(e.session.AttachClaim(attachment.ID(w.bits()), p))
	if last, found := g.lastAttached[e.def.Name()]; found && !g.calm && w.chance(0.05) {
		// Simulates the holder's next process. The previous process has crashed, or is alive
		// because its data directory was copied.
		c.Preference, c.Previous = attachment.Preference{Node: last.Node}, last.ID
	}
	began, mono := w.now, e.h.Mono()
	control := e.control
	ask(e.h, e.def.Name(), patience, func(m *member, reply func(answer[attachment.Attachment])) {
		m.attach(e.h.id, c, reply)
	}, func(a attachment.Attachment, s stamp, err error) {
		if err == nil && e.control == control {
			g.check(g.checkAlive(e.h.name, control.Ref(), began, s))
		}
		done(&arrived{attachment: a, stamp: s, began: mono, err: err})
	})
}

// install passes the reply to an attach to the handle, through a method that calls its backend.
func (e *entry) install(control *attachment.Control, got *arrived, attach func() error) {
	if e.control != control {
		return // its life has ended; the attachment expires
	}
	if errors.Is(got.err, sequencer.ErrDestroyed) {
		e.h.g.check(e.h.g.checkEnded(e.h.name, e.control.Ref()))
	}
	e.arrived = got
	_ = attach()
	e.arrived = nil
	if held, has := control.Held(); has && got.err == nil && held.ID == got.attachment.ID {
		e.h.w.note(attached, e.label, int64(e.name), int64(held.Node))
		e.h.g.lastAttached[e.def.Name()] = held
		e.granted(held.ID, got.attachment.Grant)
	}
}

// drop discards a handle that has ended, and records its release. The user creates the name again.
func (e *entry) drop(rel attachment.Release, held bool) {
	node := int64(-1)
	if held {
		node = int64(rel.Node)
	}
	e.h.w.note(destroyed, e.label, int64(e.name), node)
	if held {
		e.released(rel)
	}
	e.h.g.ledger.Forget(e.label)
	e.handle, e.control, e.session = nil, nil, nil
}

// destroy ends the name's life in the whole grid.
func (e *entry) destroy() {
	e.busy = true
	ref, name, began := e.control.Ref(), e.def.Name(), e.h.w.now
	e.h.g.promises.doomed[ref.Life] = true
	ask(e.h, name, 5*time.Second, func(m *member, reply func(answer[struct{}])) {
		askOwner(m, name, func(o *actor, v partition.View, reply func(struct{}, error)) {
			o.machine.Destroy(v, name, ref.Life, nothing(reply))
		}, reply)
	}, func(_ struct{}, s stamp, err error) {
		e.busy = false
		if err == nil {
			e.h.g.counts.Destroyed++
			e.h.g.promises.gone[ref.Life] = gone{e.h.w.now, s.Version}
			e.h.g.promises.toldEnded(ref, began, s)
		}
		if err == nil || errors.Is(err, sequencer.ErrDestroyed) || errors.Is(err, sequencer.ErrNotFound) {
			e.h.do(func(m *session.Machine, _ session.Now) { m.Ended(name, ref.Life) })
		}
	})
}
