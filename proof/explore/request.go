package explore

import (
	"math"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// input is something that reaches a process. Which fields count depends on kind.
type input struct {
	kind    inputKind
	roster  rosterID // learn; with AnyCeiling: the newest there is
	letter  letterID
	reply   replyID
	life    refID
	holder  int8
	node    int8
	version roster.Version   // that the holder shows
	tick    clustertime.Tick // detach: the last used; renewals: the start of the grant shown
	short   bool             // the owner grants less than it may
}

type inputKind uint8

const (
	inLearn inputKind = iota
	inLetter
	inReply
	inAttach
	inRenew
	inRenewSet
	inDetach
	inExpire
	inCreate
	inDestroy
	inFold
	inStop
	inDropBackup
)

// serve does what the process does with an input, and reports false if nothing
// comes of it.
func (p *process) serve(l *lab, in input, out *outcome) bool {
	switch in.kind {
	case inLearn:
		p.learn(l, in.roster)
		return true
	case inLetter:
		p.accept(l, l.letters.get(in.letter), out)
		return true
	case inReply:
		p.hear(l.replies.get(in.reply))
		return true
	}
	r, b, acts := p.act(l, in)
	if !acts {
		return false
	}
	switch in.kind {
	case inAttach:
		return p.attach(l, in, r, b)
	case inRenew:
		return p.renew(l, in, r, b)
	case inRenewSet:
		return p.renewSet(l, in, r, b)
	case inDetach:
		return p.detach(l, in)
	case inExpire:
		return p.expire(l, in)
	case inCreate:
		return p.create(l, in, r)
	case inDestroy:
		return p.destroy(l, in)
	case inFold:
		return p.fold()
	case inStop:
		return p.stop(l, out)
	case inDropBackup:
		fresh := !p.dropped[in.node]
		p.dropped[in.node] = true
		return fresh
	}
	panic("explore: unknown input")
}

// act is the shell's rule of the same name: an owner looks at the newest roster
// its member has applied, and grants up to that very roster's ceiling (O1).
func (p *process) act(l *lab, in input) (*roster.Roster, partition.Bounds, bool) {
	r := l.rosters.get(p.roster)
	b := partition.Bounds{Now: base, Ceiling: r.Ceiling}
	if l.weak == AnyCeiling {
		b.Ceiling = l.rosters.get(in.roster).Ceiling
	}
	if in.short {
		b.Ceiling = base + 1
	}
	return r, b, p.copy.Acts() && (!p.ended || l.weak == StopStillGrants)
}

// claim is the shell's rule of the same name: what is shown may be about a life
// that a loss made the grid forget, if it is from before the loss (O6).
func (p *process) claim(l *lab, in input, r *roster.Roster) partition.Claim {
	ref, lost := l.refs.get(in.life), r.Partitions[0].LostTerm
	return partition.Claim{
		Ref:        ref,
		ID:         l.attachmentID(int(in.holder)),
		Preference: sequencer.Preference{Node: sequencer.NodeID(in.node)},
		Trust:      partition.Trust{Forgotten: in.version < roster.Version(lost), Before: ref.Born.Term < uint64(lost)},
	}
}

func (p *process) attach(l *lab, in input, r *roster.Roster, b partition.Bounds) bool {
	c := p.claim(l, in, r)
	known := p.table.holds(c.ID) != nil
	before := p.life()
	a, changed, err := p.table.Attach(c, b)
	if err != nil || int(a.Node) >= l.scope.Nodes {
		return false
	}
	p.replaced(before)
	if changed {
		p.changed(in.holder)
	}
	p.show(in.holder, c.Ref, a)
	after := p.copy.Position().Number // an attach rests on the whole table
	if known && l.weak == RepeatedAttachAtOnce {
		after = 0
	}
	p.tell(in, r, a, after)
	return true
}

func (p *process) renew(l *lab, in input, r *roster.Roster, b partition.Bounds) bool {
	c := p.claim(l, in, r)
	before := p.life()
	a, changed, err := p.table.Renew(c, b, in.tick)
	if err != nil {
		return false
	}
	p.replaced(before)
	if changed && l.weak != AdoptionNotReplicated {
		p.changed(in.holder)
	}
	p.show(in.holder, c.Ref, a)
	a.Node = sequencer.NodeID(in.node) // the answer is a grant without a node
	p.tell(in, r, a, max(p.unheld.life, p.unheld.records[in.holder]))
	return true
}

// renewSet extends everything that a holder has, if the fingerprint that it shows
// is that of what is known of it here. With one attachment to a holder the rest is
// as in grid's renewSet.
func (p *process) renewSet(l *lab, in input, r *roster.Roster, b partition.Bounds) bool {
	if p.unheld != (unheld{}) {
		return false
	}
	a := sequencer.Attachment{
		ID: l.attachmentID(int(in.holder)), Node: sequencer.NodeID(in.node), Grant: sequencer.Grant{From: in.tick},
	}
	shown := p.print(l.refs.get(in.life).Life, a)
	if !p.session(int(in.holder)).Confirm(holderName(int(in.holder)), 1, shown, b.Ceiling, 0) {
		return false
	}
	if l.weak != SetNotCounted {
		p.table.Extend(b)
	}
	a.Grant.Until = b.Ceiling
	p.tell(in, r, a, 0)
	return true
}

// tell holds what the holder is told.
func (p *process) tell(in input, r *roster.Roster, a sequencer.Attachment, after uint64) {
	p.hold(answer{
		number: min(after, p.copy.Position().Number), version: r.Version, holder: in.holder,
		node: int8(a.Node), from: a.Grant.From, until: a.Grant.Until, life: in.life,
	})
}

// show notes what a holder was told, for the fingerprint of its set.
func (p *process) show(holder int8, ref sequencer.Ref, a sequencer.Attachment) {
	p.session(int(holder)).Show(partition.Tenant{
		ID: a.ID, Holder: holderName(int(holder)), Name: name, Node: a.Node, Print: p.print(ref.Life, a),
	}, 0)
}

// print is the fingerprint of an attachment.
func (p *process) print(life sequencer.Life, a sequencer.Attachment) sequencer.Print {
	if p.table.weak == PrintWithoutStart {
		a.Grant.From = 0
	}
	return sequencer.PrintOf(life, a)
}

// life returns the name's life, zero for none.
func (p *process) life() sequencer.Life {
	ref, _ := p.table.Open(name) // a zero Ref with an error
	return ref.Life
}

// replaced is the shell's rule of the same name: the sessions of a life that has
// given way to a later one are forgotten, so nobody's grant is extended unseen.
func (p *process) replaced(before sequencer.Life) {
	if before != (sequencer.Life{}) && p.life() != before {
		p.sessions = [maxHolders]*partition.Sessions{}
	}
}

func (p *process) detach(l *lab, in input) bool {
	id := l.attachmentID(int(in.holder))
	rel := sequencer.Release{ID: id, Node: sequencer.NodeID(in.node), LastUsed: in.tick}
	if !p.table.Detach(l.refs.get(in.life), rel) {
		return false
	}
	p.changed(in.holder)
	p.session(int(in.holder)).Drop(l.refs.get(in.life).Definition.Name(), id)
	return true
}

// expire ends a holder's session. The table learns from the sessions where grants
// end that were extended together.
func (p *process) expire(l *lab, in input) bool {
	expired := false
	for _, t := range p.session(int(in.holder)).Expired(0) {
		if p.table.Expire(t.Node, t.ID, t.Until) {
			p.changed(in.holder)
			expired = true
		}
	}
	return expired
}

// create begins a life, born at the owner's next operation. No cluster time is
// involved: the definition's epoch is before all ticks.
func (p *process) create(l *lab, in input, r *roster.Roster) bool {
	ref := l.refs.get(in.life)
	at := p.copy.Position()
	ref.Born = sequencer.Birth{Term: uint64(at.Term), Number: at.Number + 1}
	ref, changed, err := p.table.Create(ref, base)
	if err != nil {
		return false
	}
	if changed {
		p.changed(noHolder)
	}
	p.hold(answer{
		number: p.copy.Position().Number, version: r.Version, holder: noHolder, life: keep(&l.refs, ref),
	})
	return true
}

// destroy ends a life. The shell asks the attached holders first what they used;
// what they say are ordinary detaches, which here come before or not at all.
func (p *process) destroy(l *lab, in input) bool {
	if p.table.Destroy(l.refs.get(in.life)) != nil {
		return false
	}
	p.changed(noHolder)
	p.sessions = [maxHolders]*partition.Sessions{}
	return true
}

// fold forgets ended names. No owner's idea of the time may matter, so it may be
// as late as can be.
func (p *process) fold() bool {
	if !p.table.Fold(math.MaxInt64) {
		return false
	}
	p.copy.Changed()
	return true
}

// stop is the shell's finalHigh: the last member grants nothing from here on, and
// states where grants ended if nothing is attached (S1).
func (p *process) stop(l *lab, out *outcome) bool {
	p.ended = true
	high, free := p.table.High()
	if !free && l.weak != StopWhileAttached {
		return false
	}
	out.stop = max(1, high)
	if l.weak == StopWhileAttached {
		out.stop = max(1, p.table.Snapshot().Base)
	}
	return true
}
