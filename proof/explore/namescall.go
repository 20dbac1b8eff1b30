package explore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// nameNews is a member's report to an owner that a table is on its disk.
type nameNews struct {
	from, to roster.Incarnation
	stored   backup.Position
}

var errLost = errors.New("explore: the network lost it")

// call runs a member's machine and delivers its effects. Each delivery that the machine waits for
// counts as lost, so that the machine sends its current table.
func (l *nameLab) call(w *nameWorld, m int, do func(machine *partition.Machine, v partition.View)) {
	n := w.change(m)
	l.world, l.member = w, m
	do(n.machine, l.view(w, m))
	busy := n.busy
	n.busy = nil
	for _, b := range busy {
		n.machine.Delivered(l.view(w, m), partition.Delivery{To: b.to, Update: partition.Update{Keep: b.keep}},
			partition.Holds{}, errLost)
	}
	slices.SortFunc(n.busy, func(a, b nameBusy) int { return cmp.Compare(a.to, b.to) })
	answers := l.answers
	l.answers = nil
	for _, a := range answers {
		w.hear(a)
	}
	news := l.news
	l.news = nil
	for _, told := range news {
		if o := placeOf(told.to); w.members[o].self == told.to {
			l.call(w, o, func(machine *partition.Machine, v partition.View) { machine.StoredBy(v, told.from, told.stored) })
		}
	}
}

// view returns a member's view.
func (l *nameLab) view(w *nameWorld, m int) partition.View {
	return partition.View{Roster: w.known(m), Time: base, Mono: w.members[m].clock}
}

// learn delivers a roster to a member.
func (l *nameLab) learn(w *nameWorld, m int, r *roster.Roster) {
	n := w.change(m)
	n.version, n.reported, n.holding = r.Version, 0, roster.Holding{}
	l.call(w, m, func(machine *partition.Machine, v partition.View) { machine.Observe(v) })
}

// deliver delivers the last delivery from a term's owner to a member, and the reply to the owner.
func (l *nameLab) deliver(w *nameWorld, m int, term roster.Term) {
	d := *w.terms[term].sent[m]
	var holds partition.Holds
	var err error
	l.call(w, m, func(machine *partition.Machine, v partition.View) { holds, err = machine.Accept(v, d.Update) })
	if o := w.actor(term); o >= 0 && err == nil {
		l.call(w, o, func(machine *partition.Machine, v partition.View) { machine.Delivered(v, d, holds, nil) })
	}
}

// land completes a write.
func (l *nameLab) land(w *nameWorld, m int) {
	n := w.change(m)
	done := *n.pending
	n.write(done.DefinitionChange)
	n.pending = nil
	l.call(w, m, func(machine *partition.Machine, v partition.View) { machine.Stored(v, done.Position, nil) })
	if o := w.actor(done.Position.Term); l.weak == LateAcknowledgement && o >= 0 && o != m {
		l.call(w, o, func(machine *partition.Machine, v partition.View) { machine.StoredBy(v, n.self, done.Position) })
	}
}

// show presents a member's disk for a collection, if its machine agrees.
func (l *nameLab) show(w *nameWorld, m int, c partition.Collection) {
	var err error
	l.call(w, m, func(machine *partition.Machine, v partition.View) { err = machine.ShowDisk(v, c) })
	if _, at := w.members[m].machine.Kept(); l.inMemory() && at.Term == 0 {
		return // it has no disk to present
	}
	if err == nil {
		w.terms[c.Term].shown = &nameShown{of: c, definitions: l.definitions(w.members[m])}
	}
}

// Send implements partition.Member.
func (l *nameLab) Send(d partition.Delivery) {
	n := l.world.members[l.member]
	if b := (nameBusy{d.To, d.Update.Keep}); !slices.Contains(n.busy, b) {
		n.busy = append(n.busy, b)
	}
	l.world.terms[d.Update.Position.Term].sent[placeOf(d.To)] = &d
}

// Store implements partition.Member.
func (l *nameLab) Store(w partition.Write) { l.world.members[l.member].pending = &w }

// ReportStored implements partition.Member. The report arrives immediately, or never if its owner
// has ended: owners repeat the request after a lost report.
func (l *nameLab) ReportStored(to roster.Incarnation, p backup.Position) {
	l.news = append(l.news, nameNews{from: l.world.members[l.member].self, to: to, stored: p})
}

// ReportPersisted implements partition.Member.
func (l *nameLab) ReportPersisted(p roster.Persisted) { l.world.members[l.member].reported = p.Version }

// ReportHeld implements partition.Member.
func (l *nameLab) ReportHeld(h roster.Holding) { l.world.members[l.member].holding = h }

// Collect implements partition.Member: the reply may come at any time.
func (l *nameLab) Collect(c partition.Collection) {
	l.world.terms[c.Term].asked[placeOf(c.From)] = &c
}

// BecameOwner implements partition.Member. The owner gets no request until it has stopped waiting
// for holders' claims after a loss.
func (l *nameLab) BecameOwner(roster.PartitionID, roster.Term) {
	l.world.members[l.member].clock += learningPause
}

// ReportEarlier implements partition.Member. No grid here has an earlier generation.
func (*nameLab) ReportEarlier(until clustertime.Tick) {
	panic(fmt.Sprintf("explore: an owner takes a grant that ends at %d for one of an earlier life of the grid", until))
}

// TellEnded implements partition.Member. No holder has an attachment here.
func (*nameLab) TellEnded([]attachment.HolderID, attachment.Ref) {}

// Expired implements partition.Member.
func (*nameLab) Expired(roster.PartitionID, partition.Tenant) {}

// DefinitionsCollected implements partition.Member.
func (*nameLab) DefinitionsCollected(roster.PartitionID, roster.MemberID, int) {}
