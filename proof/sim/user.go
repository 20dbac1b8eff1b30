package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// What the users of handles do: create, attach, go idle, detach, destroy.

// want begins what the user of an entry wants next.
func (e *entry) want() {
	h, w := e.h, e.h.w
	calm := h.g.calm
	if e.busy || e.idle > w.now && !calm {
		return
	}
	switch {
	case e.control == nil && w.chance(0.2):
		e.open()
	case e.control == nil:
		e.create()
	case e.handle.State() == sequencer.Detached:
		e.attach(sequencer.AttachmentID{})
	case calm:
	case w.chance(h.g.cfg.Detach):
		e.idle = w.now + w.between(0, 10*time.Second)
		if w.chance(0.3) {
			e.idle = w.now
		}
		_ = e.handle.DetachLogicalNode(ended)
	case w.chance(h.g.cfg.Destroy):
		e.destroy()
	}
}

// create asks for the name's life and makes a handle on it.
func (e *entry) create() {
	e.busy = true
	name, began := e.def.Name(), e.h.w.now
	ask(e.h, name, 5*time.Second, func(m *member, reply func(answer[sequencer.Ref])) {
		askOwner(m, name, func(o *actor, v partition.View, reply func(sequencer.Ref, error)) {
			// The owner's member draws it, so a request that comes twice has two.
			o.machine.Create(v, sequencer.Ref{Definition: e.def, Life: sequencer.Life(e.h.w.bits())}, reply)
		}, reply)
	}, func(ref sequencer.Ref, s stamp, err error) {
		e.busy = false
		if err != nil {
			return
		}
		e.h.g.check(e.h.g.checkTold(ref, began, s))
		e.lives++
		e.label = fmt.Sprintf("%s/%d.%d", e.h.name, e.name, e.lives)
		e.handle, e.control = sequencer.New(ref, e, e.h)
		e.seen, e.last, e.next = s.version, sequencer.Attachment{}, e.h.Mono()
		e.h.w.note(created, e.label, int64(e.name), int64(s.version))
	})
}

// open asks for the name's life, and makes no use of it.
func (e *entry) open() {
	e.busy = true
	name, began := e.def.Name(), e.h.w.now
	ask(e.h, name, 5*time.Second, func(m *member, reply func(answer[sequencer.Ref])) {
		askOwner(m, name, func(o *actor, v partition.View, reply func(sequencer.Ref, error)) { o.machine.Open(v, name, reply) }, reply)
	}, func(ref sequencer.Ref, s stamp, err error) {
		e.busy = false
		switch {
		case err == nil:
			e.h.g.check(e.h.g.checkTold(ref, began, s))
		case errors.Is(err, sequencer.ErrNotFound):
			e.h.g.check(e.h.g.checkUnknown(name, began, s))
		}
	})
}

// attach gets a logical node, in place of an attachment or of none.
func (e *entry) attach(instead sequencer.AttachmentID) {
	if e.busy {
		return
	}
	e.busy = true
	w, control := e.h.w, e.control
	c := e.claim(sequencer.Attachment{ID: sequencer.AttachmentID(w.bits())})
	c.Any = true
	if w.chance(0.8) { // few nodes, so that they soon come to others
		c.Any, c.Node = false, sequencer.NodeID(w.rng.IntN(e.h.g.cfg.Nodes))
		if node, found := e.h.g.lastFreed[e.def.Name()]; found && w.chance(0.5) {
			c.Node = node
		}
	}
	name, began := e.def.Name(), w.now
	ask(e.h, name, w.between(time.Second, e.h.window()+time.Second), func(m *member, reply func(answer[sequencer.Attachment])) {
		askOwner(m, name, func(o *actor, v partition.View, reply func(sequencer.Attachment, error)) {
			o.machine.Attach(v, e.h.id, c, func(a sequencer.Attachment, err error) {
				o.show(e.h.id, c, a, err)
				reply(a, err)
			})
		}, reply)
	}, func(a sequencer.Attachment, s stamp, err error) {
		e.busy = false
		switch {
		case e.control != control:
		case errors.Is(err, sequencer.ErrDestroyed):
			e.end()
		case err == nil:
			e.h.g.check(e.checkAlive(began, s))
			e.install(a, s, instead)
		}
	})
}

// claim shows an attachment.
func (e *entry) claim(a sequencer.Attachment) partition.Claim {
	return partition.Claim{
		Ref: e.control.Ref(), ID: a.ID, Preference: sequencer.Preference{Node: a.Node},
		Grid: e.h.dir.Grid, Version: e.seen, Until: a.Grant.Until,
	}
}

// install gives an attachment to the handle.
func (e *entry) install(a sequencer.Attachment, s stamp, instead sequencer.AttachmentID) {
	e.arrived = a
	if instead.IsZero() {
		_ = e.handle.AttachLogicalNode(ended)
	} else {
		_ = e.control.Replace(ended, instead)
	}
	held, has := e.control.Held()
	if !has || held.ID != a.ID {
		return
	}
	e.seen, e.last = max(e.seen, s.version), a
	quarter := e.h.window() / 4
	e.next = e.h.Mono() + quarter - e.h.w.between(0, quarter/5)
	e.h.w.note(attached, e.label, int64(e.name), int64(a.Node))
	e.granted(a.ID, a.Grant)
	e.hurry(a.Grant)
}

// giveBack tells the owner of a release until the session would have ended.
func (e *entry) giveBack(ref sequencer.Ref, rel sequencer.Release) {
	h, name := e.h, e.def.Name()
	h.w.note(released, e.label, int64(rel.Node), int64(rel.LastUsed))
	h.g.ledger.Released(e.holding(sequencer.Attachment{ID: rel.ID, Node: rel.Node}), rel.LastUsed)
	ask(h, name, h.window(), func(m *member, reply func(answer[struct{}])) {
		askOwner(m, name, func(o *actor, v partition.View, reply func(struct{}, error)) {
			o.machine.Detach(v, h.id, ref, rel, nothing(reply))
		}, reply)
	}, func(struct{}, stamp, error) {})
}

// lifeEnded is an owner's word that a life has ended.
func (h *holder) lifeEnded(ref sequencer.Ref) {
	for _, e := range h.entries {
		if e.control != nil && e.control.Ref().Life == ref.Life {
			e.end()
		}
	}
}

// end takes the handle to its end and gives back what it has. The user creates
// the name again.
func (e *entry) end() {
	control := e.control
	if control == nil {
		return
	}
	e.h.g.check(e.checkEnded())
	rel, held := control.Destroy()
	node := int64(-1)
	if held {
		node = int64(rel.Node)
	}
	e.h.w.note(destroyed, e.label, int64(e.name), node)
	if held {
		e.giveBack(control.Ref(), rel)
	}
	e.h.g.ledger.Forget(e.label)
	e.handle, e.control = nil, nil
}

// destroy ends the life of the name for everybody.
func (e *entry) destroy() {
	e.busy = true
	ref, name, began := e.control.Ref(), e.def.Name(), e.h.w.now
	e.h.g.doomed[ref.Life] = true
	ask(e.h, name, 5*time.Second, func(m *member, reply func(answer[struct{}])) {
		askOwner(m, name, func(o *actor, v partition.View, reply func(struct{}, error)) {
			o.machine.Destroy(v, name, ref.Life, nothing(reply))
		}, reply)
	}, func(_ struct{}, s stamp, err error) {
		e.busy = false
		if err == nil {
			e.h.g.counts.Destroyed++
			e.h.g.gone[ref.Life] = gone{e.h.w.now, s.version}
			e.h.g.toldEnded(ref, began, s)
		}
		gone := err == nil || errors.Is(err, sequencer.ErrDestroyed) || errors.Is(err, sequencer.ErrNotFound)
		if gone && e.control != nil && e.control.Ref().Life == ref.Life {
			e.end()
		}
	})
}
