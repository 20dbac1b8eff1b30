package explore

import (
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// input is an event for a process. The relevant fields depend on kind.
type input struct {
	kind    inputKind
	roster  rosterID // learn; with AnyCeiling: the newest one
	letter  letterID
	reply   replyID
	life    refID
	holder  int8
	node    int8
	version roster.Version   // presented by the holder
	tick    clustertime.Tick // detach: the last used; renewals: the start of the presented grant
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
	inSilence
	inPause
	inCreate
	inDestroy
	inFold
	inStop
)

// serve delivers an input to the machine, and reports false if it has no effect.
func (l *lab) serve(p *process, in input, out *outcome) bool {
	m, v := p.machine, l.view(p, in)
	switch in.kind {
	case inLearn:
		p.roster = in.roster
		m.Observe(l.view(p, in))
	case inLetter:
		return l.accept(p, v, l.letters.get(in.letter), out)
	case inReply:
		r := l.replies.get(in.reply)
		m.Delivered(v, partition.Delivery{To: r.from, Update: partition.Update{Version: r.version}}, r.holds, nil)
	case inAttach, inRenew, inRenewSet, inDetach:
		l.holderAsks(p, v, in)
	case inCreate:
		m.Create(v, l.refs.get(in.life), l.callers.lives(answer{version: v.Roster.Version, holder: noHolder}))
	case inDestroy:
		m.Destroy(v, name, l.refs.get(in.life).Life, l.callers.nothing)
	case inFold:
		m.Tick(v)
	case inPause:
		p.clock += longPause
		m.Tick(l.view(p, in))
	case inSilence:
		l.silence(p, in)
	case inStop:
		return l.end(p, in, out)
	}
	return true
}

// silence advances time without contact from any holder: a whole window, or half of one where that can
// distinguish two holders.
func (l *lab) silence(p *process, in input) {
	steps := 4
	if l.scope.Nodes > 1 {
		steps = 2
	}
	for range steps {
		p.clock += tickPause
		p.machine.Tick(l.view(p, in))
	}
}

// accept delivers a letter. A reply that only requests it again has no effect, and is dropped with
// the letter.
func (l *lab) accept(p *process, v partition.View, m letter, out *outcome) bool {
	holds, err := p.machine.Accept(v, m.update)
	if err != nil || holds.NotYet {
		return false
	}
	out.replies = append(out.replies,
		keep(&l.replies, reply{from: p.self, to: m.from, version: m.update.Version, holds: holds}))
	return true
}

// holderAsks delivers a request from an attachment's holder.
func (l *lab) holderAsks(p *process, v partition.View, in input) {
	h, ref := holderName(int(in.holder)), l.refs.get(in.life)
	told := answer{version: v.Roster.Version, holder: in.holder, node: in.node, from: in.tick, life: in.life}
	c := partition.Claim{
		Ref: ref, ID: l.attachmentID(int(in.holder)), Preference: attachment.Preference{Node: sequencer.NodeID(in.node)},
		Grid: v.Roster.Identity(), Version: in.version,
	}
	switch in.kind {
	case inAttach:
		told.node, told.from = 0, 0 // the reply has both
		p.machine.Attach(v, h, c, l.callers.attachments(told))
	case inRenew:
		told.from = 0 // the answer has it
		p.machine.Renew(v, h, []partition.Claim{c}, l.callers.renewals(told))
	case inRenewSet:
		a := attachment.Attachment{ID: c.ID, Node: c.Node, Grant: attachment.Grant{From: in.tick}}
		set := partition.ClaimSet{Count: 1, Print: attachment.FingerprintOf(ref.Life, a)}
		p.machine.RenewSet(v, h, set, l.callers.ends(told))
	default:
		rel := attachment.Release{ID: c.ID, Node: c.Node, LastUsed: in.tick}
		p.machine.Detach(v, h, ref, rel, l.callers.nothing)
	}
}

// end is the last member's orderly stop: it grants nothing from here on, and states the end of
// grants (S1).
func (l *lab) end(p *process, in input, out *outcome) bool {
	if p.ended {
		return false
	}
	p.ended = true
	v := l.view(p, in)
	v.Ended = true
	high, err := p.machine.High(v)
	out.stop = max(1, high)
	return err == nil
}
