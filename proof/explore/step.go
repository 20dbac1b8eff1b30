package explore

import (
	"strings"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// step is one event. The relevant fields depend on kind.
type step struct {
	kind   stepKind
	member int8
	holder int8
	node   int8
	tick   int8
	change *roster.Change // nil for a raise
	next   rosterID       // the log's newest roster after it
	input  input
}

type stepKind uint8

const (
	stepEntry    stepKind = iota // in the log
	stepAnnounce                 // a ceiling that is not committed
	stepInput
	stepRestart
	stepReceive // a holder receives its node
	stepGiveBack
	stepStop
)

// steps yields every possible step in a world. A log entry has no effect before a member receives
// it, so an entry is followed only by another one, or by a member that receives the last: all other
// steps could have happened before it.
func (l *lab) steps(w *world, yield func(step)) {
	l.agreementSteps(w, yield)
	if w.unheard {
		for m := range int8(l.members()) {
			yield(inputStep(m, input{kind: inLearn, roster: w.log[len(w.log)-1]}))
		}
		return
	}
	for m := range int8(l.members()) {
		l.memberSteps(w, m, yield)
	}
	for h := range int8(l.scope.Holders) {
		l.holderSteps(w, h, yield)
	}
}

// agreementSteps yields the possible next commands in the log.
func (l *lab) agreementSteps(w *world, yield func(step)) {
	for _, e := range l.entries(w) {
		yield(step{kind: stepEntry, change: e.change, next: e.next})
	}
	if l.weak == UncommittedCeiling && l.mayRise(l.newest(*w)) {
		for m := range int8(l.members()) {
			yield(step{kind: stepAnnounce, member: m})
		}
	}
}

// memberSteps yields the inputs for one member's process.
func (l *lab) memberSteps(w *world, m int8, yield func(step)) {
	p := l.processes.get(w.processes[m])
	for _, id := range w.log {
		if newer(l.rosters.get(id), l.rosters.get(p.roster)) {
			yield(inputStep(m, input{kind: inLearn, roster: id}))
		}
	}
	for _, id := range w.letters {
		if l.letters.get(id).to == p.self {
			yield(inputStep(m, input{kind: inLetter, letter: id}))
		}
	}
	for _, id := range w.replies {
		if l.replies.get(id).to == p.self {
			yield(inputStep(m, input{kind: inReply, reply: id}))
		}
	}
	if w.restarts() < l.scope.Restarts {
		yield(step{kind: stepRestart, member: m})
	}
	if l.views[w.processes[m]].acts {
		l.ownerSteps(w, m, yield)
	}
}

// ownerSteps yields the requests to an owner.
func (l *lab) ownerSteps(w *world, m int8, yield func(step)) {
	ask := func(in input) {
		if l.weak == AnyCeiling {
			in.roster = w.log[len(w.log)-1]
		}
		yield(inputStep(m, in))
	}
	for h := range int8(l.scope.Holders) {
		l.requests(w, h, func(in input) {
			ask(in)
			if in.kind != inDetach && l.asks(requestShort) {
				in.short = true
				ask(in)
			}
		})
	}
	if l.asks(requestExpire) {
		ask(input{kind: inSilence})
	}
	if l.asks(requestDestroy) || l.asks(requestDetach) && l.asks(requestLate) {
		ask(input{kind: inPause})
	}
	if l.asks(requestDestroy) {
		if int(w.births) < l.scope.Lives {
			ask(input{kind: inCreate, life: l.births[w.births]})
		}
		for _, f := range w.lives {
			ask(input{kind: inDestroy, life: f.ref})
		}
	}
	if l.asks(requestFold) {
		ask(input{kind: inFold})
	}
	if strings.ContainsRune(l.scope.Moves, moveStop) {
		yield(step{kind: stepStop, member: m, input: input{kind: inStop}})
	}
}

// requests yields the requests from an attachment's holder, including late ones.
func (l *lab) requests(w *world, at int8, ask func(input)) {
	h := &w.holders[at]
	if !h.began {
		if at > 0 && !w.holders[at-1].began {
			return // attachments begin in order: they are otherwise equal
		}
		for i, f := range w.lives {
			for n := range int8(l.scope.Nodes) {
				ask(input{kind: inAttach, holder: at, node: n, life: f.ref, version: roster.Version(w.lives[i].since)})
			}
		}
		return
	}
	in := input{holder: at, life: w.lives[h.life].ref, version: roster.Version(h.version)}
	if h.gone {
		if l.asks(requestDetach) {
			back := in
			back.kind, back.node, back.version, back.tick = inDetach, h.node, 0, used(h.used)
			ask(back)
		}
		if !l.asks(requestLate) {
			return
		}
	}
	for n := range int8(l.scope.Nodes) {
		again := in
		again.kind, again.node = inAttach, n
		ask(again)
	}
	if h.node < 0 {
		return
	}
	in.node = h.node
	for t := range int8(8) {
		if h.starts&(1<<t) == 0 {
			continue
		}
		in.tick = base + clustertime.Tick(t)
		if in.kind != inRenew { // one start is enough: nothing depends on it
			in.kind = inRenew
			ask(in)
		}
		if l.asks(requestSet) {
			set := in
			set.kind, set.version = inRenewSet, 0
			ask(set)
		}
	}
}

// used returns the tick that a holder states as last used, 0 for none.
func used(t int8) clustertime.Tick {
	if t < 0 {
		return 0
	}
	return base + clustertime.Tick(t)
}

// holderSteps yields a holder's own steps.
func (l *lab) holderSteps(w *world, at int8, yield func(step)) {
	h := &w.holders[at]
	for n := range int8(maxNodes) {
		if h.node < 0 && h.answered&(1<<n) != 0 {
			yield(step{kind: stepReceive, holder: at, node: n})
		}
	}
	if !l.asks(requestDetach) || h.gone || h.node < 0 {
		return
	}
	yield(step{kind: stepGiveBack, holder: at, tick: -1})
	for t := range int8(8) {
		if h.rights[h.node]&(1<<t) != 0 {
			yield(step{kind: stepGiveBack, holder: at, tick: t})
		}
	}
}

func (l *lab) asks(request rune) bool { return strings.ContainsRune(l.scope.Requests, request) }

func inputStep(m int8, in input) step { return step{kind: stepInput, member: m, input: in} }

// newer reports whether a member with one roster may receive another.
func newer(r, known *roster.Roster) bool {
	return r.Version > known.Version || r.Version == known.Version && r.Ceiling > known.Ceiling
}

func (w *world) restarts() int {
	n := 0
	for _, s := range w.started {
		n += int(s)
	}
	return n
}
