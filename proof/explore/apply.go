package explore

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// do executes a step, and reports false if it has no effect.
func (l *lab) do(w world, s step) (world, bool) {
	switch s.kind {
	case stepEntry:
		w.log, w.unheard = append(slices.Clone(w.log), s.next), true
		return l.tidy(w), true
	case stepAnnounce:
		next, err := l.newest(w).Apply(raise(l.newest(w)))
		if err != nil {
			return w, false
		}
		return l.input(w, int(s.member), input{kind: inLearn, roster: keep(&l.rosters, next)})
	case stepInput:
		return l.ask(w, s)
	case stepRestart:
		return l.restart(w, int(s.member))
	case stepReceive:
		h := &w.holders[s.holder]
		h.node = s.node
		h.rights[1-s.node] = 0 // replies for another node do not count (H1)
		return w, true
	case stepGiveBack:
		l.giveBack(&w, s)
		return w, true
	case stepStop:
		return l.stop(w, int(s.member), s.input)
	}
	panic("explore: unknown step")
}

// ask delivers an input; the first request also starts its attachment or its life.
func (l *lab) ask(w world, s step) (world, bool) {
	if s.input.kind == inAttach {
		h := &w.holders[s.input.holder]
		if !h.began {
			h.began, h.version = true, uint8(s.input.version)
			h.life = int8(slices.IndexFunc(w.lives, func(f life) bool { return f.ref == s.input.life }))
		}
	}
	w, done := l.input(w, int(s.member), s.input)
	if s.input.kind == inLearn && s.input.roster == w.log[len(w.log)-1] {
		w.unheard = false
	}
	if done && s.input.kind == inCreate && l.lifeAt(w.processes[s.member]) == l.refs.get(s.input.life).Life {
		w.births++
	}
	return w, done
}

// restart replaces a member's process with an empty one: a new incarnation, which is in no in-sync
// set (B2).
func (l *lab) restart(w world, m int) (world, bool) {
	w.started[m]++
	nth := int(w.started[m])
	if l.weak == RestartUnderOldName {
		nth = 0
	}
	w.processes[m] = l.newProcess(incarnation(m, nth), 0)
	return l.tidy(w), true
}

// giveBack is a holder's final statement: it used nothing after a tick (H5).
func (l *lab) giveBack(w *world, s step) {
	h := &w.holders[s.holder]
	h.gone, h.used = true, s.tick
	if l.weak != LateAnswerAccepted {
		h.rights[h.node] &= 1<<(s.tick+1) - 1
	}
}

// stop lets the last member state the end of grants. The entry applies if the roster has not
// changed since the member began.
func (l *lab) stop(w world, m int, in input) (world, bool) {
	out := l.run(w.processes[m], in)
	if out == nil {
		return w, false
	}
	from := l.rosters.get(l.processes.get(w.processes[m]).roster).Version
	w, _ = l.input(w, m, in)
	next, err := l.newest(w).Apply(roster.Command{From: from, Change: &roster.Change{Stop: out.stop}})
	if err != nil {
		return w, false
	}
	w.log = append(slices.Clone(w.log), keep(&l.rosters, next))
	return w, true
}

// lifeAt returns the name's life in a process, zero for none.
func (l *lab) lifeAt(id processID) attachment.Life {
	ref, _ := l.processes.get(id).machine.Table().Open(name) // a zero Ref with an error
	return ref.Life
}
