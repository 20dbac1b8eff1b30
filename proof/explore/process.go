package explore

import (
	"cmp"
	"errors"
	"slices"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/roster"
)

// process is one incarnation of a member: the real replica over the real table, and
// around them what a member's shell does (package grid: actor.go, held.go, owner.go,
// replicate.go, admission.go). The rules that only the shell has are named where
// they stand here.
type process struct {
	self   roster.Incarnation
	roster rosterID // the newest that this member has applied
	copy   *replica
	state
}

// state is what the shell keeps.
type state struct {
	table    *table
	sessions [maxHolders]*partition.Sessions // one object a holder: they share nothing
	held     []answer
	unheld   unheld
	ended    bool // grants nothing any more (S1)
	dropped  [maxMembers]bool
}

// unheld is which changes not every replica holds yet: that of the name's life, and
// by attachment that of its record.
type unheld struct {
	life    uint64
	records [maxHolders]uint64
}

// answer is what a holder is told about its attachment, or about a life if holder
// is noHolder.
type answer struct {
	number  uint64 // that all have to hold before it leaves
	version roster.Version
	holder  int8
	node    int8
	from    clustertime.Tick
	until   clustertime.Tick
	life    refID
}

const noHolder = -1

// outcome is what a process does with an input.
type outcome struct {
	process   processID
	letters   []letterID
	replies   []replyID
	answers   []answer         // that may leave
	admission []roster.Holding // none or one
	stop      clustertime.Tick // of a clean stop, 0 for none
}

func (l *lab) newProcess(i roster.Incarnation, known rosterID) processID {
	t := &table{Table: partition.NewTable(), weak: l.weak}
	return l.keepProcess(&process{self: i, roster: known, copy: backup.New(0, i, t), state: state{table: t}})
}

// run gives a process an input and lets it settle. It returns nil if nothing
// comes of it.
func (l *lab) run(id processID, in input) *outcome {
	key := work{id, in}
	if out, known := l.outcomes[key]; known {
		return out
	}
	l.runs++
	p := deepCopy(l.processes.get(id))
	out := &outcome{}
	if !p.serve(l, in, out) || p.beyond(l.scope) {
		l.outcomes[key] = nil
		return nil
	}
	p.settle(l, out)
	out.process = l.keepProcess(p)
	l.outcomes[key] = out
	return out
}

// beyond reports whether the table was changed more often in its term than the scope
// allows. The first term begins with
// what the start needs.
func (p *process) beyond(s Scope) bool {
	at := p.copy.Position()
	made := int(at.Number)
	if at.Term == firstTerm {
		made -= 1 + s.Attached
	}
	return made > s.Operations
}

// settle does what follows from whatever has just happened.
func (p *process) settle(l *lab, out *outcome) {
	if !p.copy.Acts() {
		p.fail()
		p.sessions = [maxHolders]*partition.Sessions{}
		return
	}
	p.replicate(l, out)
	p.release(l, out)
	if h, ready := p.copy.Admission(); ready {
		out.admission = []roster.Holding{h}
	}
}

// replicate sends everybody needed what it lacks. The shell has one request to a
// replica under way at a time; here the network may have lost it, so each step
// sends again.
func (p *process) replicate(l *lab, out *outcome) {
	for _, to := range p.copy.Needed() {
		from := p.copy
		if l.weak == ChangesOnOlderTerm && p.copy.Position().Term > firstTerm { // whoever is new is thought to have the table
			from = deepCopy(p.copy)
			from.Acknowledged(to, l.rosters.get(p.roster).Version, backup.Position{Term: from.Position().Term})
		}
		if u, due := from.Update(to); due {
			out.letters = append(out.letters, keep(&l.letters, letter{from: p.self, to: to, update: u}))
		}
	}
}

// hold keeps an answer until all hold what it rests on. Equal ones are one.
func (p *process) hold(a answer) {
	if !slices.Contains(p.held, a) {
		p.held = append(p.held, a)
		slices.SortFunc(p.held, compareAnswers)
	}
}

func compareAnswers(a, b answer) int {
	return cmp.Or(cmp.Compare(a.holder, b.holder), cmp.Compare(a.node, b.node), cmp.Compare(a.number, b.number),
		cmp.Compare(a.version, b.version), cmp.Compare(a.from, b.from), cmp.Compare(a.until, b.until), cmp.Compare(a.life, b.life))
}

// release sends the answers that waited long enough.
func (p *process) release(l *lab, out *outcome) {
	p.held = slices.DeleteFunc(p.held, func(a answer) bool {
		leaves := p.allHold(l, a.number)
		if leaves {
			out.answers = append(out.answers, a)
		}
		return leaves
	})
	if len(p.held) == 0 {
		p.held = nil
	}
}

// allHold is Replica.Holds, or what a weakness makes of it.
func (p *process) allHold(l *lab, number uint64) bool {
	switch {
	case l.weak == NoAcknowledgements, l.weak == InheritedAtOnce && number == 0:
		return true
	case l.weak == OneBackupIsEnough, l.weak == OwnerDropsBackup, l.weak == JoinerNotNeeded:
		return p.weaklyHeld(l, number)
	}
	return p.copy.Holds(number)
}

// weaklyHeld asks copies of the replica that were told that those whom the weakness
// spares hold everything.
func (p *process) weaklyHeld(l *lab, number uint64) bool {
	r := l.rosters.get(p.roster)
	for _, one := range p.copy.Needed() {
		bent := deepCopy(p.copy)
		for _, other := range p.copy.Needed() {
			if l.weak == OneBackupIsEnough && other != one || p.dropped[memberOf(other)] ||
				l.weak == JoinerNotNeeded && r.Partitions[0].Joining == other {
				bent.Acknowledged(other, r.Version, bent.Position())
			}
		}
		if bent.Holds(number) {
			return true
		}
	}
	return p.copy.Holds(number)
}

// changed numbers a change of an attachment's record, or with noHolder of the life.
func (p *process) changed(holder int8) {
	if number := p.copy.Changed().Number; !p.copy.Holds(number) {
		if holder == noHolder {
			p.unheld.life = number
		} else {
			p.unheld.records[holder] = number
		}
	}
}

// forget drops the changes that everybody holds.
func (u *unheld) forget(holds func(uint64) bool) {
	if holds(u.life) {
		u.life = 0
	}
	for i, number := range u.records {
		if holds(number) {
			u.records[i] = 0
		}
	}
}

// fail gives up every answer that is held.
func (p *process) fail() { p.held, p.unheld, p.dropped = nil, unheld{}, [maxMembers]bool{} }

// learn shows a newer committed roster to the member.
func (p *process) learn(l *lab, id rosterID) {
	r := l.rosters.get(id)
	before := l.rosters.get(p.roster)
	p.table.byName = p.roster != 0 && before.Partitions[0].Owner == p.self
	p.roster = id
	entry := r.Partitions[0]
	if l.weak == LossForgotten || l.weak == LossKnownToOneOwner && entry.Term != entry.LostTerm {
		entry.LostTerm = 0
	}
	if l.weak == FloorOfEarlierLoss && entry.Term == entry.LostTerm && entry.Owner != p.self {
		entry.Floor = base
	}
	if p.copy.Observe(r.Version, entry) {
		p.tookOffice(l)
	}
	p.table.byName = false
}

// tookOffice begins the term's sessions with what was taken over.
func (p *process) tookOffice(l *lab) {
	p.fail()
	p.sessions = [maxHolders]*partition.Sessions{}
	for _, t := range p.table.Tenants() {
		for h := range maxHolders {
			if l.attachmentID(h) == t.ID {
				p.session(h).Show(t, 0)
			}
		}
	}
}

// session returns a holder's sessions. Nothing has a time here, so every tenant is
// always late, and it is the explorer who says which one expires when.
func (p *process) session(holder int) *partition.Sessions {
	if p.sessions[holder] == nil {
		p.sessions[holder] = partition.NewSessions(0, 0)
	}
	return p.sessions[holder]
}

// accept takes what an owner sends, and answers.
func (p *process) accept(l *lab, m letter, out *outcome) {
	err := p.take(l, m.update)
	if err != nil && !errors.Is(err, backup.ErrGap) && !errors.Is(err, backup.ErrOldTerm) {
		return
	}
	out.replies = append(out.replies, keep(&l.replies, reply{
		from: p.self, to: m.from, version: m.update.Version,
		held: p.copy.Position(), newest: p.copy.Newest(), gap: errors.Is(err, backup.ErrGap),
	}))
}

// take is Replica.Accept, or what a weakness makes of it.
func (p *process) take(l *lab, u update) error {
	held := p.copy.Position()
	switch {
	case l.weak == ChangesOnOlderTerm && u.Whole == nil && held.Term < u.Position.Term && held.Term > 0 && held.Number >= u.Since:
		bent := partition.NewTable()
		bent.Restore(p.table.Snapshot())
		for _, c := range u.Changes {
			bent.Apply(c)
		}
		whole := bent.Snapshot()
		u.Whole = &whole
	case l.weak == OlderTermAccepted && u.Whole != nil && u.Position.Term < p.copy.Newest(),
		l.weak == OlderNumberAccepted && u.Whole != nil && u.Position.Term == held.Term && u.Position.Number < held.Number:
		r := l.rosters.get(p.roster)
		if r.Partitions[0].Owner == p.self {
			break
		}
		p.copy = backup.New(0, p.self, p.table)
		_, err := p.copy.Accept(u)
		p.copy.Observe(r.Version, r.Partitions[0])
		return err
	}
	_, err := p.copy.Accept(u)
	return err
}

// hear notes a replica's answer.
func (p *process) hear(m reply) {
	p.copy.Heard(m.newest)
	if m.gap {
		p.copy.Behind(m.from)
		return
	}
	p.copy.Acknowledged(m.from, m.version, m.held)
	p.unheld.forget(p.copy.Holds)
}
