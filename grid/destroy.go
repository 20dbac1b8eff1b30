package grid

import (
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
func (o *owner) destroy(in wire.DestroyRequest, done chan<- error) {
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
func (o *owner) tellEnded(ref sequencer.Ref) {
	name := ref.Definition.Name()
	o.m.events.publish(o.sessions.Holders(name), wire.Event{Name: name, Life: ref.Life})
}

// endIfSilent ends a life under way once nobody holds a node of it any more.
func (o *owner) endIfSilent(name string) {
	if len(o.table.TenantsOf(name)) == 0 {
		o.end(name)
	}
}

// endOverdue ends the lives whose holders had their time.
func (o *owner) endOverdue() {
	for name, e := range o.ending {
		if o.m.clock.Mono() >= e.deadline {
			o.end(name)
		}
	}
}

// end ends a life. Holders are told once more: one may have opened its stream
// after the first time, and renewed before this.
func (o *owner) end(name string) {
	e := o.ending[name]
	delete(o.ending, name)
	silent := o.table.TenantsOf(name)
	err := o.table.Destroy(e.ref)
	if err == nil {
		o.replica.Changed()
		o.tellEnded(e.ref)
	}
	for _, t := range silent {
		o.sessions.Drop(t.ID)
	}
	for _, done := range e.waiting {
		done <- err
	}
}

// fail gives up every destroy under way.
func (o *owner) fail(err error) {
	for name, e := range o.ending {
		delete(o.ending, name)
		for _, done := range e.waiting {
			done <- err
		}
	}
}
