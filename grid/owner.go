package grid

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// What an actor does for the partition while it is the owner. Each request runs
// in the actor's goroutine and begins with act.

const (
	// showTime is how long, beyond a renewal's pause, holders have to show
	// what a loss made their owner forget.
	showTime = 3 * time.Second
	// answerTime is how long a destroy waits for holders to say what they used.
	answerTime = time.Second
)

// stamp is what every answer carries.
func (o *actor) stamp(r *partition.Roster, b sequencer.Bounds) wire.Stamp {
	return wire.Stamp{Grid: r.Grid, Version: r.Version, Time: b.Now}
}

// tick lets silent holders' attachments expire and overdue destroys go on.
func (o *actor) tick() {
	r, b, err := o.act()
	if err != nil {
		o.sessions = sequencer.NewSessions(0, o.m.clock.Mono())
		clear(o.given)
		return
	}
	o.given.forget(o.m.clock.Mono(), time.Duration(r.Settings.Window)*time.Millisecond)
	for _, t := range o.sessions.Expired(o.m.clock.Mono()) {
		if o.table.Expire(t.Name, t.Node, t.ID, t.Until) {
			o.changed(t.Name, t.ID)
			o.m.log.Info("session ended; its logical node is free again",
				"partition", o.id, "sequencer", t.Name, "node", t.Node, "holder", t.Holder)
		}
	}
	o.endOverdue()
	if o.table.Fold(b.Now) {
		o.copy.Changed()
	}
}

// create returns a name's life, beginning one if there is none.
func (o *actor) create(in wire.CreateRequest) (wire.SequencerResponse, error) {
	ref, err := wire.Sequencer{Name: in.Name, Epoch: in.Epoch, Nodes: in.Nodes}.Ref()
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	r, b, err := o.act()
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	if err := o.settled(in.Name); err != nil {
		return wire.SequencerResponse{}, err
	}
	if b.Now == 0 {
		return wire.SequencerResponse{}, errNoTime
	}
	if err := o.learning(r, b, in.Name); err != nil {
		return wire.SequencerResponse{}, err
	}
	_, _ = rand.Read(ref.Life[:])
	at := o.copy.Position()
	ref.Born = sequencer.Birth{Term: uint64(at.Term), Number: at.Number + 1}
	ref, changed, err := o.table.Create(ref, b.Now)
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	if changed {
		o.changed(in.Name, sequencer.AttachmentID{})
	}
	return wire.SequencerResponse{Stamp: o.stamp(r, b), Sequencer: wire.SequencerOf(ref)}, nil
}

// settled refuses to say whether there is a name while its life is being ended: its
// holders have been told already that it has.
func (o *actor) settled(name string) error {
	if o.ending[name] == nil {
		return nil
	}
	return fmt.Errorf("sequencer %q: %w: it is being destroyed", name, sequencer.ErrUnavailable)
}

// learning refuses to say that a name is unknown while a loss may have made this
// owner forget it and its holders may not have shown it yet: a second life of the
// name would end the handles of the first. Nothing of the new life could be used
// before cluster time has reached the floor, so it costs nobody anything.
func (o *actor) learning(r *partition.Roster, b sequencer.Bounds, name string) error {
	if !o.isLearning(r, b) {
		return nil
	}
	if _, err := o.table.Open(name); err == nil {
		return nil
	}
	return fmt.Errorf("sequencer %q: %w: its partition was lost a moment ago; its holders are being asked", name, sequencer.ErrUnavailable)
}

// isLearning reports whether holders may still have to show what a loss made this
// owner forget.
func (o *actor) isLearning(r *partition.Roster, b sequencer.Bounds) bool {
	p := r.Partitions[o.id]
	window := time.Duration(r.Settings.Window) * time.Millisecond
	return p.Term == p.LostTerm && b.Now < p.Floor && o.m.clock.Mono()-o.office <= window/4+showTime
}

// errNoTime is the answer of a member that does not know the cluster time yet.
var errNoTime = fmt.Errorf("%w: this member does not know the cluster time yet", sequencer.ErrUnavailable)

// open returns a name's life.
func (o *actor) open(in wire.OpenRequest) (wire.SequencerResponse, error) {
	r, b, err := o.act()
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	if err := cmp.Or(o.settled(in.Name), o.learning(r, b, in.Name)); err != nil {
		return wire.SequencerResponse{}, err
	}
	ref, err := o.table.Open(in.Name)
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	return wire.SequencerResponse{Stamp: o.stamp(r, b), Sequencer: wire.SequencerOf(ref)}, nil
}

// attach gives a holder a logical node.
func (o *actor) attach(in wire.AttachRequest) (wire.AttachResponse, error) {
	ref, err := in.Claim.Sequencer.Ref()
	if err == nil {
		err = checkAttachment(in.Holder, in.Claim)
	}
	if err != nil {
		return wire.AttachResponse{}, err
	}
	r, b, err := o.act()
	if err != nil {
		return wire.AttachResponse{}, err
	}
	name := ref.Definition.Name()
	if o.ending[name] != nil {
		return wire.AttachResponse{}, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	}
	if err := cmp.Or(o.checkEarlier(r, b, in.Claim), o.returned(ref, in.Claim.ID)); err != nil {
		return wire.AttachResponse{}, err
	}
	life := o.life(name)
	c := o.claim(r, ref, in.Claim)
	if in.Claim.Node == nil {
		if o.isLearning(r, b) { // any node may be one that a holder is about to show
			return wire.AttachResponse{}, fmt.Errorf("sequencer %q: %w: its partition was lost a moment ago; its holders are being asked for their logical nodes",
				name, sequencer.ErrUnavailable)
		}
		c.Preference = sequencer.Preference{Any: true}
	}
	a, changed, err := o.table.Attach(c, b)
	if err != nil {
		return wire.AttachResponse{}, err
	}
	o.replaced(life, name)
	if changed {
		o.changed(name, a.ID)
	}
	o.show(in.Holder, ref, a)
	return wire.AttachResponse{Stamp: o.stamp(r, b), Node: a.Node, Grant: a.Grant}, nil
}

// checkAttachment refuses a request that names no attachment.
func checkAttachment(h sequencer.HolderID, c wire.Claim) error {
	if err := wire.CheckHolder(h); err != nil {
		return err
	}
	if c.ID.IsZero() {
		return fmt.Errorf("%w: the attachment ID is zero; give 128 random bits, new for each attach", sequencer.ErrInvalidConfig)
	}
	return nil
}

// claim is what the table needs to know of a wire claim. What was shown may be
// about a life that a loss made the grid forget.
func (o *actor) claim(r *partition.Roster, ref sequencer.Ref, in wire.Claim) sequencer.Claim {
	lost := partition.Version(r.Partitions[o.id].LostTerm)
	c := sequencer.Claim{Ref: ref, ID: in.ID, Forgotten: in.Grid != r.Grid || in.Version < lost}
	if in.Node != nil {
		c.Node = *in.Node
	}
	return c
}

// life returns a name's life, zero for none.
func (o *actor) life(name string) sequencer.Life {
	ref, _ := o.table.Open(name) // a zero Ref with an error
	return ref.Life
}

// returned refuses an attachment of the name's life that was given back.
func (o *actor) returned(ref sequencer.Ref, id sequencer.AttachmentID) error {
	if name := ref.Definition.Name(); o.life(name) == ref.Life {
		return o.given.refuse(name, id)
	}
	return nil
}

// replaced forgets the sessions of a name whose life has given way to a later one:
// its attachments are not recorded any more, so nobody's may be extended unseen.
func (o *actor) replaced(before sequencer.Life, name string) {
	if !before.IsZero() && o.life(name) != before {
		o.sessions.DropName(name)
	}
}

// show notes that a holder showed a handle of a life, with what it was answered.
func (o *actor) show(h sequencer.HolderID, ref sequencer.Ref, a sequencer.Attachment) {
	o.sessions.Show(sequencer.Tenant{
		ID: a.ID, Holder: h, Name: ref.Definition.Name(), Node: a.Node, Print: sequencer.PrintOf(ref.Life, a),
	}, o.m.clock.Mono())
}

// renewSet extends every grant of a holder's attachments in this partition, if
// what it shows of them is what is known of them here. It looks at none of them.
func (o *actor) renewSet(h sequencer.HolderID, in wire.ClaimSet) (sequencer.Tick, error) {
	_, b, err := o.act()
	if err != nil {
		return 0, err
	}
	o.after = 0 // every replica holds all of it, or it says nothing of any
	if len(o.ending) > 0 || !o.unheld.none() || !o.sessions.Confirm(h, in.Count, in.Print, b.Ceiling, o.m.clock.Mono()) {
		return 0, nil
	}
	o.table.Extend(b)
	return b.Ceiling, nil
}

// renew extends one claim's grant.
func (o *actor) renew(h sequencer.HolderID, in wire.Claim) (sequencer.Grant, error) {
	ref, err := in.Sequencer.Ref()
	if err != nil {
		return sequencer.Grant{}, err
	}
	r, b, err := o.act()
	if err != nil {
		return sequencer.Grant{}, err
	}
	name := ref.Definition.Name()
	if err := cmp.Or(o.checkEarlier(r, b, in), o.returned(ref, in.ID)); err != nil {
		return sequencer.Grant{}, err
	}
	if e := o.ending[name]; e != nil && e.ref.Life == ref.Life {
		// It missed the event; this tells it as well, and it gives back what it has.
		return sequencer.Grant{}, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	}
	life := o.life(name)
	c := o.claim(r, ref, in)
	var a sequencer.Attachment
	var changed bool
	if in.ID.IsZero() {
		changed, err = o.table.Known(c)
	} else {
		a, changed, err = o.table.Renew(c, b)
	}
	if err != nil {
		return sequencer.Grant{}, err
	}
	o.replaced(life, name)
	if changed {
		o.changed(name, in.ID)
	}
	o.show(h, ref, a)
	o.after = o.unheld.of(name, in.ID)
	return a.Grant, nil
}

// detach takes a logical node back.
func (o *actor) detach(in wire.DetachRequest) (wire.Done, error) {
	ref, err := in.Sequencer.Ref()
	if err == nil {
		err = wire.CheckHolder(in.Holder)
	}
	if err != nil {
		return wire.Done{}, err
	}
	r, b, err := o.act()
	if err != nil {
		return wire.Done{}, err
	}
	rel := sequencer.Release{ID: in.ID, Node: in.Node, LastUsed: in.LastUsed}
	if o.table.Detach(ref, rel) {
		o.changed(ref.Definition.Name(), in.ID)
		o.given.note(in.ID, o.m.clock.Mono())
	}
	o.sessions.Drop(in.ID)
	name := ref.Definition.Name()
	if o.ending[name] == nil {
		o.show(in.Holder, ref, sequencer.Attachment{}) // the handle is still there, Detached
	} else {
		o.endIfSilent(name)
	}
	return wire.Done{Stamp: o.stamp(r, b)}, nil
}
