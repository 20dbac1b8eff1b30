package sim

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The baseline without agreement: a member that has the lowest place among the members it reaches,
// and reaches a quorum, decides for all. Every member that receives its roster, and has no newer
// one, follows it.

// countMembers decides for each member whether it leads its side.
func (g *grid) countMembers() {
	quorum := (g.cfg.Members + 1) / 2
	all := g.running()
	for _, m := range all {
		if m.until > g.w.now {
			continue // it keeps its role
		}
		seen, first := 0, true
		for _, s := range all {
			if s.seat.answers(m) {
				seen++
				first = first && s.place >= m.place
			}
		}
		switch leads := first && seen >= quorum; {
		case leads && m.lead == nil:
			newLead(m, 1)
			g.agreed.terms++
		case !leads:
			m.resign()
		}
	}
}

// decideAlone applies a command to the member's own roster.
func (m *member) decideAlone(c roster.Command, done func(error)) {
	next, err := m.roster.Apply(c)
	if err == nil {
		if c.Change != nil {
			m.g.sawRoster(m.roster, next)
			without := *next
			without.Partitions = slices.Clone(next.Partitions)
			for id := range without.Partitions {
				without.Partitions[id].Floor = 0
			}
			next = &without
		}
		m.follow(next)
	}
	m.after(leader.StepEvery/2, func() { done(err) })
}

// follow installs a roster that is not older than the member's own.
func (m *member) follow(r *roster.Roster) {
	if r.Version < m.roster.Version || r == m.roster {
		return
	}
	before := m.roster.Time
	m.roster = r
	if r.Time != before {
		m.tookRaise(r.Time)
	}
	m.attend()
}

// The baseline that reuses nodes immediately: a service next to the owner treats a holder as dead
// after half a window without claims, and releases its nodes although their grants have not ended.

// shown is an attachment as its holder last presented it.
type shown struct {
	holder attachment.HolderID
	ref    attachment.Ref
	node   sequencer.NodeID
	at     time.Duration
}

// show records an attachment that a holder presented, for this baseline only.
func (o *actor) show(h attachment.HolderID, ref attachment.Ref, a attachment.Attachment) {
	if o.shown != nil && !a.ID.IsZero() {
		o.shown[a.ID] = shown{h, ref, a.Node, o.m.Mono()}
	}
}

// showAll records that a holder presented all its attachments in the partition.
func (o *actor) showAll(h *holder) {
	for _, e := range h.entries {
		if e.control != nil && roster.PartitionOf(e.def.Name(), o.m.g.cfg.Partitions) == o.id {
			held, _ := e.control.Held()
			o.show(h.id, e.control.Ref(), held)
		}
	}
}

func (o *actor) reuse() {
	v := o.m.view()
	silence := v.Roster.Settings.Window.Duration() / 2
	byID := func(a, b attachment.ID) int { return bytes.Compare(a[:], b[:]) }
	for _, id := range slices.SortedFunc(maps.Keys(o.shown), byID) {
		s := o.shown[id]
		if v.Mono-s.at <= silence {
			continue
		}
		delete(o.shown, id)
		name := s.ref.Definition.Name()
		rel := attachment.Release{ID: id, Node: s.node, LastUsed: v.Bounds().Now - 1}
		o.machine.Detach(v, s.holder, s.ref, rel, func(err error) {
			if err == nil {
				o.m.g.freed(name, s.node)
			}
		})
	}
}
