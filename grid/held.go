package grid

import (
	"fmt"
	"math"
	"slices"

	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// wholeTable says that an answer rests on everything the table holds.
const wholeTable = math.MaxUint64

// heldAnswer is an answer that waits until every replica holds what it rests on
// (O4). send gets nil then, or the reason why it never will be.
type heldAnswer struct {
	number   uint64 // of this term
	question uint64 // 0 for none
	send     func(error)
}

// hold sends an answer once everybody needed holds what it rests on.
func (o *actor) hold(h heldAnswer) {
	switch {
	case len(o.held) == 0 && o.allHold(h):
		h.send(nil)
	case len(o.held) >= heldSize:
		h.send(fmt.Errorf("%w: partition %d waits for its backups; try again", sequencer.ErrUnavailable, o.id))
	default:
		o.held = append(o.held, h)
	}
}

// allHold reports whether everybody needed holds what an answer rests on.
func (o *actor) allHold(h heldAnswer) bool {
	unasked := func(i partition.Incarnation) bool {
		s := o.senders[i]
		return h.question > 0 && (s == nil || s.answered < h.question)
	}
	return o.copy.Holds(h.number) && !slices.ContainsFunc(o.copy.Needed(), unasked)
}

// question begins a question to all replicas, whose answers say that none of them
// knew of a later owner. An answer that changes nothing rests on that alone: an
// owner that stood still and was replaced meanwhile would tell what once was.
func (o *actor) question() uint64 {
	o.questions++
	return o.questions
}

// release sends the answers that waited long enough.
func (o *actor) release() {
	kept := o.held[:0]
	for _, h := range o.held {
		if o.allHold(h) {
			h.send(nil)
		} else {
			kept = append(kept, h)
		}
	}
	clear(o.held[len(kept):])
	o.held = kept
}

// changed numbers a change of a name, and of an attachment unless that is zero.
func (o *actor) changed(name string, id sequencer.AttachmentID) {
	if number := o.copy.Changed().Number; !o.copy.Holds(number) {
		o.unheld.note(name, id, number)
	}
}

// unheld is which changes not every replica holds yet: by name those of its life,
// by attachment those of its record. Renewals of all others need not wait.
type unheld struct {
	names map[string]uint64
	ids   map[sequencer.AttachmentID]uint64
}

func newUnheld() unheld {
	return unheld{names: map[string]uint64{}, ids: map[sequencer.AttachmentID]uint64{}}
}

// none reports whether every replica holds everything, as far as is known.
func (u unheld) none() bool { return len(u.names)+len(u.ids) == 0 }

// note keeps the number of a change.
func (u unheld) note(name string, id sequencer.AttachmentID, number uint64) {
	if id.IsZero() {
		u.names[name] = number
	} else {
		u.ids[id] = number
	}
}

// of returns the number that all have to hold before an attachment's renewal may
// be answered; 0 is the table as the term began with it.
func (u unheld) of(name string, id sequencer.AttachmentID) uint64 {
	return max(u.names[name], u.ids[id])
}

// forget drops the changes that everybody holds.
func (u unheld) forget(holds func(uint64) bool) {
	for name, number := range u.names {
		if holds(number) {
			delete(u.names, name)
		}
	}
	for id, number := range u.ids {
		if holds(number) {
			delete(u.ids, id)
		}
	}
}
