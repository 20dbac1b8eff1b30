package partition

import (
	"errors"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// All attachments of the world are of one process, whose sessions each owner
// keeps. An owner does the following with them, besides its table.

const process attachment.HolderID = "process"

// shown records the reply to an attachment's holder.
func (o *owner) shown(ref attachment.Ref, a attachment.Attachment, err error) {
	if err != nil {
		return
	}
	o.replaced(ref)
	o.sessions.Show(Tenant{
		ID: a.ID, Holder: process, Name: ref.Definition.Name(), Node: a.Node, Print: attachment.FingerprintOf(ref.Life, a),
	}, 0)
}

// replaced drops the sessions of a name that has another life now.
func (o *owner) replaced(ref attachment.Ref) {
	name := ref.Definition.Name()
	for _, t := range o.sessions.names[name] {
		if r := o.table.records[name]; r != nil && r.assigned(t.id) == nil {
			o.sessions.DropName(name)
			return
		}
	}
}

// session returns the session that a holder's attachment belongs to, nil for none.
func (o *owner) session(h *holder) *session {
	for _, t := range o.sessions.names[h.ref.Definition.Name()] {
		if t.id == h.id {
			return t.of
		}
	}
	return nil
}

// lapsed ends one attachment's session as if it alone had not been shown, and
// returns where its grant was extended to with the others'.
func (o *owner) lapsed(h *holder) clustertime.Tick {
	of := o.session(h)
	if of == nil {
		return 0
	}
	o.sessions.Drop(h.ref.Definition.Name(), h.id)
	return of.until
}

var errOtherwise = errors.New("the owner knows the set otherwise")

// renewTogether extends all attachments of the process at an owner, if they equal the
// replies to the process.
func (w *world) renewTogether(t *rapid.T) {
	var all []*holder
	var until clustertime.Tick
	var version uint64
	if !w.on(t, func(o *owner, b Bounds) (bool, error) {
		var print attachment.Fingerprint
		for _, h := range w.holders {
			if o.session(h) != nil && h.placed && !h.gone {
				all = append(all, h)
				print = print.With(attachment.FingerprintOf(h.ref.Life, h.told))
			}
		}
		if o.unacked || !o.sessions.Confirm(process, ClaimSet{Count: len(all), Print: print}, b.Ceiling, 0) {
			return false, errOtherwise
		}
		o.table.Extend(b)
		until, version = b.Ceiling, o.term
		return false, nil
	}) {
		return
	}
	for _, h := range all {
		w.granted(t, h, attachment.Attachment{ID: h.id, Node: h.node,
			Grant: attachment.Grant{From: h.told.Grant.From, Until: until}}, version)
	}
}
