package explore

import (
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// changes are creates, destroys, folds and adoptions at an owner.
func (l *nameLab) changes(w *nameWorld, m int, emit emitName) {
	n := w.members[m]
	if w.ops >= l.scope.Operations {
		return
	}
	change := func(do func(next *nameWorld, n *nameMember) bool, format string, args ...any) {
		next := w.fork(m)
		if do(next, next.members[m]) {
			next.ops++
			next.members[m].copy.Changed()
			l.publish(next, m)
			emit(next, "%s "+format, append([]any{l.tell(w, m)}, args...)...)
		}
	}
	ref, err := n.table.Open(name)
	switch {
	case !n.table.Complete():
	case err == nil:
		change(func(_ *nameWorld, n *nameMember) bool { n.own = true; return n.table.Destroy(ref) == nil }, "destroys life %d", ref.Life[0])
	case len(w.lives) < l.scope.Lives:
		change(func(next *nameWorld, n *nameMember) bool { l.create(next, n); return true }, "creates life %d", len(w.lives)+1)
	}
	if l.scope.Fold && w.dead && n.table.Complete() && err != nil {
		change(func(_ *nameWorld, n *nameMember) bool { return n.table.Fold(1 << 60) }, "forgets the tombstone")
	}
	if lost := roster.Version(w.known(m).Partitions[0].LostTerm); l.scope.Show {
		for i, life := range w.lives {
			if life.answered == 0 || life.answered >= lost || err == nil && ref.Life == life.ref.Life {
				continue
			}
			forgotten := !n.table.Complete() || len(w.known(m).Partitions[0].Disk) == 0 || l.weak == ShownAfterwards
			claim := partition.Claim{Ref: life.ref, Trust: partition.Trust{Forgotten: forgotten}}
			change(func(_ *nameWorld, n *nameMember) bool {
				changed, err := n.table.Known(claim)
				return changed && err == nil
			}, "is shown life %d", i+1)
		}
	}
}

// create begins a life in place of what the table knows.
func (l *nameLab) create(w *nameWorld, n *nameMember) {
	at := n.copy.Position()
	ref := sequencer.Ref{Definition: definition(), Life: sequencer.Life{byte(len(w.lives) + 1)}, Born: sequencer.Birth{Term: uint64(at.Term), Number: at.Number + 1}}
	replaced := -1
	if i := indexOf(n.table); i >= 0 {
		replaced = w.lifeOf(n.table.Definitions().Records[i].Ref)
	} else if w.dead {
		replaced = w.newest
	}
	if _, _, err := n.table.Create(ref, base); err != nil {
		panic(err)
	}
	n.own = true
	w.lives = append(w.lives, nameLife{ref: ref, replaced: replaced})
}

func (w *nameWorld) lifeOf(ref sequencer.Ref) int {
	return slices.IndexFunc(w.lives, func(l nameLife) bool { return l.ref.Life == ref.Life })
}

// answers tells somebody what an owner's table says of the name, if it may (D2).
func (l *nameLab) answers(w *nameWorld, m int, emit emitName) {
	n := w.members[m]
	life, alive := -1, false
	if i := indexOf(n.table); i >= 0 {
		r := n.table.Definitions().Records[i]
		life, alive = w.lifeOf(r.Ref), !r.Destroyed
	}
	number := n.copy.Position().Number
	if !l.complete(n, life) || !n.copy.Holds(number) && !l.volatileOnly(w, m, number) || !l.onDisks(n, number, alive) ||
		!n.own && !l.confirmed(w, m) && l.weak != NotConfirmed {
		return
	}
	next := w.fork()
	next.tell(life, alive, n.own, n.version)
	if next.wrong != w.wrong || next.newest != w.newest || next.dead != w.dead || len(next.lives) > 0 && life >= 0 && next.lives[life] != w.lives[life] {
		state := "unknown"
		switch {
		case alive:
			state = fmt.Sprintf("life %d", life+1)
		case life >= 0:
			state = fmt.Sprintf("life %d, ended", life+1)
		}
		emit(next, "%s answers at version %d: the name is %s", l.tell(w, m), n.version, state)
	}
}

// complete reports whether anything may be answered (D5).
func (l *nameLab) complete(n *nameMember, life int) bool {
	return n.table.Complete() || l.weak == ShownIsAnswered && life >= 0
}

// volatileOnly reports whether only memory-only replicas lack a number, for a weakness.
func (l *nameLab) volatileOnly(w *nameWorld, m int, number uint64) bool {
	return l.weak == MemoryNotNeeded && w.members[m].copy.Acts()
}

// onDisks reports whether the disks have what an answer rests on, or what a weakness
// makes of that.
func (l *nameLab) onDisks(n *nameMember, number uint64, alive bool) bool {
	d := n.copy.Disks(number)
	behind := len(d.Behind)
	switch l.weak {
	case MemoryIsEnough, ShownIsAnswered:
		return true
	case OpenFromMemory:
		return alive || n.copy.Persistent(number)
	case OneDiskIsEnough:
		return len(d.Missing) == 0 && behind < len(d.Named)
	case OwnerDiskNotCounted:
		if slices.Contains(d.Behind, n.self) {
			behind--
		}
		return len(d.Missing) == 0 && behind == 0
	case DisksNotCompared:
		return behind == 0
	}
	return n.copy.Persistent(number)
}

// confirmed reports whether no replica that an owner needs knows of a later term.
func (l *nameLab) confirmed(w *nameWorld, m int) bool {
	n := w.members[m]
	for _, needed := range n.copy.Needed() {
		at := slices.IndexFunc(w.members[:], func(o *nameMember) bool { return o.self == needed })
		if at < 0 || w.members[at].copy.Newest() > n.copy.Position().Term {
			return false
		}
	}
	return true
}

// tell judges an answer, and keeps it. Each answer has to know every life that was
// answered before, and an answered destroy is not undone. The outcome of the owner's own
// operation may be late.
func (w *nameWorld) tell(life int, alive, own bool, version roster.Version) {
	switch {
	case own && life >= 0 && w.follows(w.newest, life) && (life != w.newest || w.dead || !alive):
		w.dead = w.dead || life == w.newest && !alive
	case life < 0 && w.newest >= 0 && !w.dead:
		w.wrong = fmt.Sprintf("the name is unknown, and life %d was answered", w.newest+1)
	case life < 0:
	case !w.follows(life, w.newest):
		w.wrong = fmt.Sprintf("life %d is answered, which does not know life %d, answered before", life+1, w.newest+1)
	case life == w.newest && w.dead && alive:
		w.wrong = fmt.Sprintf("life %d is answered, whose end was answered before", life+1)
	default:
		w.newest, w.dead = life, !alive
		if first := w.lives[life].answered; alive && (first == 0 || version < first) {
			w.lives[life].answered = version
		}
	}
}

// follows reports whether a life is another one, or replaced it, directly or not.
func (w *nameWorld) follows(life, other int) bool {
	for ; life >= 0 && life != other; life = w.lives[life].replaced {
	}
	return life == other
}

// unknownOnDisk tells of a disk that is named and does not know what was answered, ""
// for none: the invariant behind every answer after a loss.
func (w *nameWorld) unknownOnDisk() string {
	if w.newest < 0 {
		return ""
	}
	for i, m := range w.members {
		if !slices.Contains(w.roster().Partitions[0].Disk, m.id) {
			continue
		}
		r, known := m.disk[name]
		switch life := w.lifeOf(r.Ref); {
		case !known && !w.dead, known && !w.follows(life, w.newest):
			return fmt.Sprintf("the disk of %c is named and does not know life %d, which was answered", 'A'+i, w.newest+1)
		case known && life == w.newest && w.dead && !r.Destroyed:
			return fmt.Sprintf("the disk of %c is named and has life %d, whose end was answered", 'A'+i, life+1)
		}
	}
	return ""
}
