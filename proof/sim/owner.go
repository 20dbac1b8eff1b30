package sim

import (
	"time"

	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// What an owner does for holders: the rules of package grid's owner.go, renew.go
// and destroy.go, around the same table and sessions.

// stamp is what every answer carries.
type stamp struct {
	version partition.Version
	time    partition.Tick
}

// claim is an attachment as a holder shows it; a zero ID stands for a handle
// without one.
type claim struct {
	ref     sequencer.Ref
	id      sequencer.AttachmentID
	node    sequencer.NodeID
	any     bool
	version partition.Version // of the last answer about the life
}

// answer is what a request came to.
type answer[T any] struct {
	value T
	stamp stamp
	err   error
}

// askOwner has a name's owner serve a request. The answer leaves only when all
// that it rests on is held by every replica (O4).
func askOwner[T any](m *member, name string, serve func(o *actor) (T, error), reply func(answer[T])) {
	r := m.roster
	if len(r.Partitions) == 0 || r.Partitions[partition.Of(name, len(r.Partitions))].Owner != m.inc {
		reply(answer[T]{err: errWrongOwner})
		return
	}
	o := m.actorOf(partition.Of(name, len(r.Partitions)))
	first := stamp{r.Version, m.Now()}
	o.do(func() {
		o.after = wholeTable
		before := o.copy.Position()
		value, err := serve(o)
		out := answer[T]{value, first, err}
		if !o.copy.Acts() {
			reply(out)
			return
		}
		h := heldAnswer{number: min(o.after, o.copy.Position().Number), send: func(notHeld error) {
			if notHeld != nil {
				out = answer[T]{err: notHeld}
			}
			reply(out)
		}}
		if o.after == wholeTable && o.copy.Position() == before {
			o.questions++
			h.question = o.questions
		}
		o.hold(h)
	})
}

// ticks reports whether there is anything that time does here.
func (o *actor) ticks() bool {
	return o.sessions.Len() > 0 || len(o.ending) > 0 || len(o.given) > 0
}

// tick lets silent holders' attachments expire and overdue destroys go on.
func (o *actor) tick() {
	r, b, err := o.act()
	if err != nil {
		o.sessions = sequencer.NewSessions(0, o.m.Mono())
		clear(o.given)
		return
	}
	now := o.m.Mono()
	for id, at := range o.given {
		if now-at > time.Duration(r.Settings.Window)*time.Millisecond {
			delete(o.given, id)
		}
	}
	for _, t := range o.sessions.Expired(now) {
		if o.expire(t, b) {
			o.changed(t.Name, t.ID)
			o.m.g.freed(t.Name, t.Node)
			o.m.w.note(expired, o.m.name, int64(o.id), int64(t.Node))
		}
	}
	for _, name := range o.endings() {
		if now >= o.ending[name].deadline {
			o.end(name)
		}
	}
	if o.table.Fold(b.Now) {
		o.copy.Changed()
	}
}

// expire frees a silent holder's logical node.
func (o *actor) expire(t sequencer.Tenant, b sequencer.Bounds) bool {
	if o.m.g.cfg.Baseline != Reuse {
		return o.table.Expire(t.Name, t.Node, t.ID, t.Until)
	}
	ref, err := o.table.Open(t.Name)
	return err == nil && o.table.Detach(ref, sequencer.Release{ID: t.ID, Node: t.Node, LastUsed: b.Now - 1})
}

// create returns a name's life, beginning one if there is none.
func (o *actor) create(ref sequencer.Ref) (sequencer.Ref, error) {
	r, b, err := o.act()
	if err != nil {
		return ref, err
	}
	name := ref.Definition.Name()
	if o.ending[name] != nil || b.Now == 0 || o.learning(r, b, name) {
		return ref, sequencer.ErrUnavailable
	}
	at := o.copy.Position()
	ref.Born = sequencer.Birth{Term: uint64(at.Term), Number: at.Number + 1}
	ref, changed, err := o.table.Create(ref, b.Now)
	if changed {
		o.changed(name, sequencer.AttachmentID{})
	}
	return ref, err
}

// learning reports whether a name may be unknown only because a loss made this
// owner forget it.
func (o *actor) learning(r *partition.Roster, b sequencer.Bounds, name string) bool {
	_, err := o.table.Open(name)
	return err != nil && o.isLearning(r, b)
}

func (o *actor) isLearning(r *partition.Roster, b sequencer.Bounds) bool {
	p := r.Partitions[o.id]
	window := time.Duration(r.Settings.Window) * time.Millisecond
	return p.Term == p.LostTerm && b.Now < p.Floor && o.m.Mono()-o.office <= window/4+3*time.Second
}

// attach gives a holder a logical node.
func (o *actor) attach(h sequencer.HolderID, in claim) (sequencer.Attachment, error) {
	r, b, err := o.act()
	if err != nil {
		return sequencer.Attachment{}, err
	}
	name := in.ref.Definition.Name()
	if o.ending[name] != nil {
		return sequencer.Attachment{}, sequencer.ErrDestroyed
	}
	if err := o.returned(in); err != nil {
		return sequencer.Attachment{}, err
	}
	if in.any && o.isLearning(r, b) {
		return sequencer.Attachment{}, sequencer.ErrUnavailable
	}
	life := o.life(name)
	a, changed, err := o.table.Attach(o.claim(r, in), b)
	if err != nil {
		return sequencer.Attachment{}, err
	}
	o.replaced(life, name)
	if changed {
		o.changed(name, a.ID)
	}
	o.show(h, in.ref, a)
	return a, nil
}

func (o *actor) claim(r *partition.Roster, in claim) sequencer.Claim {
	lost := partition.Version(r.Partitions[o.id].LostTerm)
	return sequencer.Claim{
		Ref: in.ref, ID: in.id, Preference: sequencer.Preference{Node: in.node, Any: in.any},
		Forgotten: in.version < lost,
	}
}

func (o *actor) life(name string) sequencer.Life {
	ref, _ := o.table.Open(name) // a zero Ref with an error
	return ref.Life
}

// returned refuses an attachment of the name's life that was given back.
func (o *actor) returned(in claim) error {
	if _, gone := o.given[in.id]; gone && o.life(in.ref.Definition.Name()) == in.ref.Life {
		return sequencer.ErrDetached
	}
	return nil
}

// replaced forgets the sessions of a name whose life has given way to a later one.
func (o *actor) replaced(before sequencer.Life, name string) {
	if !before.IsZero() && o.life(name) != before {
		o.sessions.DropName(name)
	}
}

func (o *actor) show(h sequencer.HolderID, ref sequencer.Ref, a sequencer.Attachment) {
	o.sessions.Show(sequencer.Tenant{
		ID: a.ID, Holder: h, Name: ref.Definition.Name(), Node: a.Node, Print: sequencer.PrintOf(ref.Life, a),
	}, o.m.Mono())
}

// renewSet extends every grant of a holder's attachments here, if what it shows
// of them is what is known.
func (o *actor) renewSet(h sequencer.HolderID, count int, print sequencer.Print) (sequencer.Tick, error) {
	_, b, err := o.act()
	if err != nil {
		return 0, err
	}
	o.after = 0
	if len(o.ending) > 0 || len(o.unheld) > 0 || !o.sessions.Confirm(h, count, print, b.Ceiling, o.m.Mono()) {
		return 0, nil
	}
	o.table.Extend(b)
	return b.Ceiling, nil
}

// renewed is what became of one claim.
type renewed struct {
	grant sequencer.Grant
	err   error
}

// renewAll extends the grants of claims of this partition.
func (o *actor) renewAll(h sequencer.HolderID, in []claim) ([]renewed, error) {
	var after uint64
	out := make([]renewed, len(in))
	for i, c := range in {
		o.after = wholeTable
		grant, err := o.renew(h, c)
		out[i] = renewed{grant, err}
		after = max(after, o.after)
	}
	o.after = after
	return out, nil
}

// renew extends one claim's grant.
func (o *actor) renew(h sequencer.HolderID, in claim) (sequencer.Grant, error) {
	r, b, err := o.act()
	if err != nil {
		return sequencer.Grant{}, err
	}
	name := in.ref.Definition.Name()
	if err := o.returned(in); err != nil {
		return sequencer.Grant{}, err
	}
	if e := o.ending[name]; e != nil && e.ref.Life == in.ref.Life {
		return sequencer.Grant{}, sequencer.ErrDestroyed
	}
	life := o.life(name)
	var a sequencer.Attachment
	var changed bool
	if in.id.IsZero() {
		changed, err = o.table.Known(o.claim(r, in))
	} else {
		a, changed, err = o.table.Renew(o.claim(r, in), b)
	}
	if err != nil {
		return sequencer.Grant{}, err
	}
	o.replaced(life, name)
	if changed {
		o.changed(name, in.id)
	}
	o.show(h, in.ref, a)
	o.after = max(o.unheld[unheldKey{name: name}], o.unheld[unheldKey{name, in.id}])
	return a.Grant, nil
}

// detach takes a logical node back.
func (o *actor) detach(h sequencer.HolderID, ref sequencer.Ref, rel sequencer.Release) (struct{}, error) {
	if _, _, err := o.act(); err != nil {
		return struct{}{}, err
	}
	name := ref.Definition.Name()
	if o.table.Detach(ref, rel) {
		o.changed(name, rel.ID)
		o.given[rel.ID] = o.m.Mono()
	}
	o.sessions.Drop(rel.ID)
	if o.ending[name] == nil {
		o.show(h, ref, sequencer.Attachment{})
	} else {
		o.endIfSilent(name)
	}
	return struct{}{}, nil
}
