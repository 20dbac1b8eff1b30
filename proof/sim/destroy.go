package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// ending is a destroy under way: the holders were told, and each that is alive
// gives its logical node back.
type ending struct {
	ref      sequencer.Ref
	deadline time.Duration
	waiting  []func(error)
}

func (o *actor) endings() []string {
	if len(o.ending) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(o.ending))
}

// destroy begins to end a life, or waits with those who asked before.
func (o *actor) destroy(ref sequencer.Ref, done func(error)) {
	r, b, err := o.act()
	name := ref.Definition.Name()
	if err == nil && o.learning(r, b, name) {
		err = sequencer.ErrUnavailable
	}
	if err != nil {
		done(err)
		return
	}
	if e := o.ending[name]; e != nil {
		e.waiting = append(e.waiting, done)
		return
	}
	have, err := o.table.Open(name)
	if err == nil && have.Life != ref.Life {
		err = sequencer.ErrDestroyed
	}
	if err != nil {
		done(err)
		return
	}
	o.ending[name] = &ending{ref: have, deadline: o.m.Mono() + time.Second, waiting: []func(error){done}}
	o.tellEnded(have)
	o.endIfSilent(name)
}

// destroy serves a holder's destroy: the answer waits for the life's end, and for
// what it rests on.
func (m *member) destroy(name string, ref sequencer.Ref, reply func(answer[struct{}])) {
	var outcome error
	left := 2
	finish := func() {
		if left--; left == 0 {
			reply(answer[struct{}]{stamp: stamp{m.roster.Version, m.Now()}, err: outcome})
		}
	}
	askOwner(m, name, func(o *actor) (struct{}, error) {
		o.destroy(ref, func(err error) {
			outcome = err
			finish()
		})
		return struct{}{}, nil
	}, func(a answer[struct{}]) {
		if a.err != nil {
			reply(a)
			return
		}
		finish()
	})
}

// tellEnded tells every holder with a handle on a life that the life has ended.
func (o *actor) tellEnded(ref sequencer.Ref) {
	for _, id := range o.sessions.Holders(ref.Definition.Name()) {
		if h := o.m.g.holderOf[id]; h != nil {
			o.m.w.net.send(&o.m.process, &h.process, func() { h.lifeEnded(ref) })
		}
	}
}

func (o *actor) endIfSilent(name string) {
	if len(o.table.TenantsOf(name)) == 0 {
		o.end(name)
	}
}

// end ends a life.
func (o *actor) end(name string) {
	e := o.ending[name]
	delete(o.ending, name)
	err := o.table.Destroy(e.ref)
	if err == nil {
		o.changed(name, sequencer.AttachmentID{})
		o.tellEnded(e.ref)
		o.m.g.counts.Destroyed++
	}
	o.sessions.DropName(name)
	for _, done := range e.waiting {
		o.hold(heldAnswer{number: o.copy.Position().Number, send: func(notHeld error) { done(cmp.Or(err, notHeld)) }})
	}
}
