package explore

import (
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/partition"

	"github.com/snowgrid/snowgrid/roster"
)

// emitName takes a state one step away, with the step in words.
type emitName func(next *nameWorld, format string, args ...any)

// steps finds every state that is one step away.
func (l *nameLab) steps(w *nameWorld, emit emitName) {
	l.commands(w, emit)
	for m := range w.members {
		l.faults(w, m, emit)
		for _, r := range w.log {
			if l.concerns(w, m, r) {
				next := w.fork(m)
				l.learn(next, m, r)
				emit(next, "%s learns version %d", l.tell(w, m), r.Version)
			}
		}
		l.copies(w, m, emit)
		if w.members[m].copy.Acts() {
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
		next := w.fork(m)
		next.restarts++
		next.members[m].begin()
		emit(next, "%s ends and starts again", l.tell(w, m))
	}
	if registered && w.wipes < l.scope.Wipes && l.durable(m) {
		next := w.fork(m)
		next.wipes++
		n := next.members[m]
		clear(n.disk)
		if l.weak != WipedKeepsID {
			n.id, n.starts = memberID(m, next.wipes), 0
		}
		n.begin()
		emit(next, "%s loses its disk", l.tell(w, m))
	}
}

// concerns reports whether it may make a difference that a member learns a version: it
// is to be the owner or is one, or an owner waits for its disk.
func (l *nameLab) concerns(w *nameWorld, m int, r *roster.Roster) bool {
	n, p := w.members[m], r.Partitions[0]
	if r.Version <= n.version {
		return false
	}
	if _, member := r.Member(n.self); !member && !n.copy.Acts() {
		return false
	}
	waits := slices.ContainsFunc(w.members[:], func(o *nameMember) bool { return o.copy.Acts() && !o.table.Complete() })
	return p.Owner == n.self || n.copy.Acts() || p.LostTerm == roster.Term(r.Version) && p.Term > n.copy.Newest() && waits
}

// learn shows a member a roster.
func (l *nameLab) learn(w *nameWorld, m int, r *roster.Roster) {
	n := w.members[m]
	n.version = r.Version
	if n.copy.Observe(r.Version, r.Partitions[0], r.Durable()...) {
		n.own = false
		if l.weak == FlagLost {
			n.table.CompleteAlone()
		}
	}
	l.publish(w, m)
}

// publish keeps what an owner sends in its term.
func (l *nameLab) publish(w *nameWorld, m int) {
	n := w.members[m]
	if n.copy.Acts() {
		whole := n.table.Snapshot()
		at := n.copy.Position()
		w.terms[at.Term].sent = &update{Version: n.version, Position: at, Whole: &whole}
	}
}

// copies is what a replica does: it takes tables, writes them, and shows its disk.
func (l *nameLab) copies(w *nameWorld, m int, emit emitName) {
	n := w.members[m]
	for term := range w.terms {
		if l.takes(w, m, roster.Term(term)) {
			next := w.fork(m)
			l.install(next, m, roster.Term(term))
			emit(next, "%s holds %v", l.tell(w, m), next.members[m].copy.Position())
		}
		if t := roster.Term(term); l.shows(w, m, t) {
			next := w.fork(m)
			next.terms[term].shown = &nameShown{from: n.id, definitions: n.definitions()}
			emit(next, "%s shows its disk to term %d: %s", l.tell(w, m), term, tellDefinitions(next.terms[term].shown.definitions))
		}
	}
	if n.pending != nil {
		next := w.fork(m)
		l.land(next, m)
		emit(next, "%s has %v on disk", l.tell(w, m), n.pending.at)
	} else if next := w.fork(m); l.begins(next, m) {
		emit(next, "%s begins to write %v", l.tell(w, m), next.members[m].pending.at)
	}
}

// takes reports whether a member is sent the table of a term, and has not got it.
func (l *nameLab) takes(w *nameWorld, m int, term roster.Term) bool {
	n, u := w.members[m], w.terms[term].sent
	if u == nil || n.copy.Acts() && n.copy.Position().Term == term || term < n.copy.Newest() {
		return false
	}
	target := slices.ContainsFunc(w.log, func(r *roster.Roster) bool {
		return r.Partitions[0].Term == term && r.Partitions[0].Keeps(n.self) && r.Partitions[0].Owner != n.self
	})
	again := u.Version > w.said(m, term)
	return target && (n.copy.Position().Compare(u.Position) < 0 || again && n.copy.Position() == u.Position)
}

// said returns the version at which a member that joins has answered the owner of a term.
func (w *nameWorld) said(m int, term roster.Term) roster.Version {
	o := w.actor(term)
	if o < 0 || w.known(o).Partitions[0].Joining != w.members[m].self {
		return w.terms[term].sent.Version
	}
	if _, due := w.members[o].copy.Update(w.members[m].self); due {
		return 0
	}
	return w.members[o].version
}

// install brings a member the table of a term, and the owner the answer.
func (l *nameLab) install(w *nameWorld, m int, term roster.Term) {
	u, n := w.terms[term].sent, w.members[m]
	if u == nil || n.copy.Acts() {
		return
	}
	held, err := n.copy.Accept(*u)
	if err != nil || held != u.Position {
		return
	}
	if o := w.actor(term); o >= 0 {
		w.members[o] = deepCopy(w.members[o])
		w.members[o].copy.Acknowledged(n.self, u.Version, held)
		w.members[o].copy.StoredBy(n.self, n.copy.OnDisk())
	}
}

// begins begins a write, if there is something to write (D1). What the disk has already
// needs none.
func (l *nameLab) begins(w *nameWorld, m int) bool {
	n := w.members[m]
	at, useful := n.copy.Storable()
	if !l.durable(m) || n.pending != nil || !useful || !n.table.Complete() && l.weak != IncompleteStored {
		return false
	}
	n.pending = &nameWrite{at: at, change: n.table.TakeUnstored()}
	return true
}

// land ends a write: it is on disk, and the owner hears of it, if it may (D1).
func (l *nameLab) land(w *nameWorld, m int) {
	n := w.members[m]
	at := n.pending.at
	n.write(n.pending.change)
	n.pending = nil
	if !n.copy.Stored(at) && l.weak != LateAcknowledgement {
		return
	}
	if o := w.actor(at.Term); o >= 0 && o != m {
		w.members[o] = deepCopy(w.members[o])
		w.members[o].copy.StoredBy(n.self, at)
	}
}

// shows reports whether a member shows its disk to the owner of a term (D6).
func (l *nameLab) shows(w *nameWorld, m int, term roster.Term) bool {
	o := w.actor(term)
	if o < 0 || !l.durable(m) || w.members[o].table.Complete() {
		return false
	}
	p, n := w.known(o).Partitions[0], w.members[m]
	if !slices.Contains(p.Disk, n.id) && l.weak != AnyDiskWillDo {
		return false
	}
	return n.copy.MayShow(term, p.LostTerm) == nil || l.weak == ShownTooEarly && n.copy.Newest() < p.LostTerm
}

// owns is what an owner does: it takes definitions, changes the name, and answers.
func (l *nameLab) owns(w *nameWorld, m int, emit emitName) {
	n := w.members[m]
	term := n.copy.Position().Term
	for t := range w.terms[:term+1] {
		s := w.terms[t].shown
		if s == nil || n.table.Complete() || roster.Term(t) != term && l.weak != EarlierAnswerUsed {
			continue
		}
		next := w.fork(m)
		l.collect(next, m, s)
		emit(next, "%s takes the definitions of %s: %s", l.tell(w, m), s.from[15:], tellDefinitions(s.definitions))
	}
	if !n.table.Complete() && len(w.known(m).Partitions[0].Disk) == 0 {
		next := w.fork(m)
		next.members[m].table.CompleteAlone()
		next.members[m].copy.Changed()
		l.publish(next, m)
		emit(next, "%s goes on without any disk", l.tell(w, m))
	}
	l.changes(w, m, emit)
	l.answers(w, m, emit)
}

func (l *nameLab) collect(w *nameWorld, m int, s *nameShown) {
	n := w.members[m]
	before := n.table.Lives(1)
	n.table.Collect(s.definitions)
	if l.weak == ShownIsKept && len(before) > 0 {
		// The shown life stays if the disk has none that is later.
		if at := indexOf(n.table); at < 0 || n.table.Definitions().Records[at].Ref.Born.Compare(before[0].Born) <= 0 {
			d := partition.Definitions{Records: []partition.DefinitionRecord{{Ref: before[0]}}}
			n.table.Collect(d)
		}
	}
	n.own = false
	n.copy.Replaced()
	l.publish(w, m)
}

// indexOf returns where a table has the name, -1 if it does not.
func indexOf(t *partition.Table) int {
	return slices.IndexFunc(t.Definitions().Records, func(r partition.DefinitionRecord) bool { return r.Ref.Definition.Name() == name })
}

// tellDefinitions says in a few words what a table or a disk has.
func tellDefinitions(d partition.Definitions) string {
	if len(d.Records) == 0 {
		return "nothing"
	}
	r := d.Records[0]
	if r.Destroyed {
		return fmt.Sprintf("life %d, ended", r.Ref.Life[0])
	}
	return fmt.Sprintf("life %d", r.Ref.Life[0])
}
