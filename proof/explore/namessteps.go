package explore

import (
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// emitName receives a state one step away, with the step in words.
type emitName func(next *nameWorld, format string, args ...any)

// steps emits every state one step away.
func (l *nameLab) steps(w *nameWorld, emit emitName) {
	l.commands(w, emit)
	for m := range w.members {
		l.faults(w, m, emit)
		for _, r := range w.log {
			if l.concerns(w, m, r) {
				next := w.fork()
				l.learn(next, m, r)
				emit(next, "%s learns version %d", l.tell(w, m), r.Version)
			}
		}
		l.copies(w, m, emit)
		if w.members[m].machine.Acts() {
			l.owns(w, m, emit)
		}
	}
}

// tell names a member's process.
func (l *nameLab) tell(w *nameWorld, m int) string {
	return fmt.Sprintf("%c%d", 'A'+m, w.members[m].starts)
}

// faults ends processes and loses disks.
func (l *nameLab) faults(w *nameWorld, m int, emit emitName) {
	_, registered := w.roster().Member(w.members[m].self)
	if registered && w.restarts < l.scope.Restarts {
		next := w.fork()
		next.restarts++
		l.begin(next.change(m))
		emit(next, "%s ends and starts again", l.tell(w, m))
	}
	if registered && w.wipes < l.scope.Wipes && (l.durable(m) || l.inMemory()) {
		next := w.fork()
		next.wipes++
		n := next.change(m)
		clear(n.disk)
		if l.weak != WipedKeepsID {
			n.id, n.starts = memberID(m, next.wipes), 0
		}
		l.begin(n)
		emit(next, "%s loses its disk", l.tell(w, m))
	}
}

// concerns reports whether a member's update to a version may have an effect: it is or becomes the
// owner, or an owner waits for its disk, or has sent it a message that it does not accept yet.
func (l *nameLab) concerns(w *nameWorld, m int, r *roster.Roster) bool {
	n, p := w.members[m], r.Partitions[0]
	if r.Version <= n.version {
		return false
	}
	acts := n.machine.Acts()
	if _, member := r.Member(n.self); !member && !acts {
		return false
	}
	waits := slices.ContainsFunc(w.members[:], func(o *nameMember) bool {
		return o.machine.Acts() &&
			!o.machine.Table().Complete()
	})
	sent := w.terms[p.Term].sent[m]
	return p.Owner == n.self || acts || p.LostTerm == roster.Term(r.Version) &&
		p.Term > n.machine.Holds().Newest && waits ||
		sent != nil && sent.To == n.self && roster.Term(n.version) < p.Term ||
		l.inMemory() && slices.Contains(r.Storage(0).Needed, n.self)
}

// copies emits a replica's steps: a delivery, the end of a write, a collection.
func (l *nameLab) copies(w *nameWorld, m int, emit emitName) {
	n := w.members[m]
	for term := range w.terms {
		if t := roster.Term(term); l.takes(w, m, t) {
			next := w.fork()
			l.deliver(next, m, t)
			emit(next, "%s is sent %v and holds %v", l.tell(w, m), w.terms[term].sent[m].Update.Position,
				next.members[m].machine.Position())
		}
		if t := roster.Term(term); l.shows(w, m, t) {
			next := w.fork()
			l.show(next, m, *w.terms[term].asked[m])
			emit(next, "%s shows what it has stored to term %d: %s", l.tell(w, m), term, l.tellStored(n))
		}
	}
	if n.pending != nil {
		next := w.fork()
		l.land(next, m)
		emit(next, "%s has %v on disk", l.tell(w, m), n.pending.Position)
	}
}

// takes reports whether the last delivery from a term's owner to a member may have an effect.
func (l *nameLab) takes(w *nameWorld, m int, term roster.Term) bool {
	n, d := w.members[m], w.terms[term].sent[m]
	if d == nil || d.To != n.self || n.machine.Acts() && n.machine.Position().Term == term ||
		term < n.machine.Holds().Newest {
		return false
	}
	o := w.actor(term)
	has := n.machine.Position()
	if d.Update.Keep {
		has = n.machine.Holds().Stored
	}
	return has.Compare(d.Update.Position) < 0 ||
		o >= 0 && slices.Contains(w.members[o].busy, nameBusy{n.self, d.Update.Keep})
}

// shows reports whether an owner still waits for a member's disk.
func (l *nameLab) shows(w *nameWorld, m int, term roster.Term) bool {
	o, c := w.actor(term), w.terms[term].asked[m]
	return o >= 0 && c != nil && c.From == w.members[m].id && !w.members[o].machine.Table().Complete()
}

func (l *nameLab) tellStored(m *nameMember) string {
	r, n := l.stored(m)
	return tellDefinitions(n, r.Ref.Life[0], r.Destroyed)
}

// stored returns a member's stored record of the name, and its number of records.
func (l *nameLab) stored(m *nameMember) (r partition.DefinitionRecord, n int) {
	d := l.definitions(m)
	for _, r := range d.Records {
		if r.Ref.Definition.Name() == name {
			return r, len(d.Records)
		}
	}
	return r, len(d.Records)
}

// owns emits an owner's steps: definitions and requests.
func (l *nameLab) owns(w *nameWorld, m int, emit emitName) {
	n := w.members[m]
	for t := range w.terms[:n.machine.Position().Term+1] {
		s := w.terms[t].shown
		if s == nil || n.machine.Table().Complete() {
			continue
		}
		next := w.fork()
		l.call(next, m, func(machine *partition.Machine, v partition.View) { machine.Collected(v, s.of, s.definitions, nil) })
		emit(next, "%s takes the definitions of %s", l.tell(w, m), s.of.From[15:])
	}
	l.requests(w, m, emit)
}
