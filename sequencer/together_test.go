package sequencer

import (
	"errors"

	"pgregory.net/rapid"
)

// All attachments of the world are of one process, whose sessions each owner
// keeps. What follows is what an owner does with them beside its table.

const process HolderID = "process"

// shown notes what an attachment's holder is answered.
func (o *owner) shown(ref Ref, a Attachment, err error) {
	if err != nil {
		return
	}
	o.replaced(ref)
	o.sessions.Show(Tenant{
		ID: a.ID, Holder: process, Name: ref.Definition.Name(), Node: a.Node, Print: PrintOf(ref.Life, a),
	}, 0)
}

// replaced drops the sessions of a name that has another life now.
func (o *owner) replaced(ref Ref) {
	for _, s := range o.sessions.tenants {
		r := o.table.records[s.Name]
		if s.Name == ref.Definition.Name() && r != nil && r.assigned(s.ID) == nil {
			o.sessions.DropName(s.Name)
			return
		}
	}
}

// lapsed ends one attachment's session as if it alone had not been shown, and
// returns where its grant was extended to with the others'.
func (o *owner) lapsed(id AttachmentID) Tick {
	s, found := o.sessions.tenants[tenantKey{id: id}]
	if !found {
		return 0
	}
	until := o.sessions.holders[s.Holder].until
	o.sessions.Drop(id)
	return until
}

var errOtherwise = errors.New("the owner knows the set otherwise")

// renewTogether extends everything that an owner knows of the process, if that is
// what the process was told.
func (w *world) renewTogether(t *rapid.T) {
	var all []*holder
	var until Tick
	var version uint64
	if !w.on(t, func(o *owner, b Bounds) (bool, error) {
		var print Print
		for _, h := range w.holders {
			if _, known := o.sessions.tenants[tenantKey{id: h.id}]; known && h.placed && !h.gone {
				all = append(all, h)
				print = print.With(PrintOf(h.ref.Life, h.told))
			}
		}
		if o.unheld || !o.sessions.Confirm(process, len(all), print, b.Ceiling, 0) {
			return false, errOtherwise
		}
		o.table.Extend(b)
		until, version = b.Ceiling, o.term
		return false, nil
	}) {
		return
	}
	for _, h := range all {
		w.granted(t, h, Attachment{ID: h.id, Node: h.node, Grant: Grant{From: h.told.Grant.From, Until: until}}, version)
	}
}
