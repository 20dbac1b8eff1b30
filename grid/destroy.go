package grid

import (
	"cmp"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ending is a destroy under way: the holders were told, and each that is alive
// gives its logical node back with the last timestamp it used. When all have, or
// time is up, the life ends.
type ending struct {
	ref      sequencer.Ref
	deadline time.Duration
	waiting  []chan<- error
}

// destroy begins to end a life, or waits with those who asked before. The
// outcome goes to done.
func (o *actor) destroy(in wire.DestroyRequest, done chan<- error) {
	r, b, err := o.act()
	if err == nil {
		err = o.learning(r, b, in.Name)
	}
	if err != nil {
		done <- err
		return
	}
	if e := o.ending[in.Name]; e != nil {
		e.waiting = append(e.waiting, done)
		return
	}
	ref, err := o.table.Open(in.Name)
	if err == nil && !in.Life.IsZero() && in.Life != ref.Life {
		err = sequencer.ErrDestroyed
	}
	if err != nil {
		done <- err
		return
	}
	o.ending[in.Name] = &ending{ref: ref, deadline: o.m.clock.Mono() + answerTime, waiting: []chan<- error{done}}
	o.tellEnded(ref)
	o.endIfSilent(in.Name)
}

// tellEnded tells every holder with a handle on a life that the life has ended.
func (o *actor) tellEnded(ref sequencer.Ref) {
	name := ref.Definition.Name()
	o.m.events.publish(o.sessions.Holders(name), wire.Event{Name: name, Life: ref.Life})
}

// endIfSilent ends a life under way once nobody holds a node of it any more.
func (o *actor) endIfSilent(name string) {
	if len(o.table.TenantsOf(name)) == 0 {
		o.end(name)
	}
}

// endOverdue ends the lives whose holders had their time.
func (o *actor) endOverdue() {
	for name, e := range o.ending {
		if o.m.clock.Mono() >= e.deadline {
			o.end(name)
		}
	}
}

// end ends a life. Holders are told once more: one may have opened its stream
// after the first time, and renewed before this.
func (o *actor) end(name string) {
	e := o.ending[name]
	delete(o.ending, name)
	err := o.table.Destroy(e.ref)
	if err == nil {
		o.changed(name, sequencer.AttachmentID{})
		o.tellEnded(e.ref)
	}
	o.sessions.DropName(name)
	for _, done := range e.waiting {
		o.hold(heldAnswer{number: o.copy.Position().Number, send: func(notHeld error) { done <- cmp.Or(err, notHeld) }})
	}
}
