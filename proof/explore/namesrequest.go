package explore

import (
	"errors"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// nameAsked is a request for the name, and the lives acknowledged before it: a reply must include
// them.
type nameAsked struct {
	kind    nameKind
	life    int // to be created or destroyed
	newest  int
	dead    bool
	version roster.Version
}

type nameKind uint8

const (
	nameOpen nameKind = iota
	nameCreate
	nameDestroy
	nameShow
)

// nameAnswer is the reply to a client: a life, or -1 for none. It is either the outcome of the
// client's own operation, or a statement about the current life.
type nameAnswer struct {
	to    nameAsked
	life  int
	alive bool
	own   bool
}

// nameCallers are the reply functions for requests about the name.
type nameCallers struct {
	functions[nameAsked]
	lab *nameLab
}

func newNameCallers(l *nameLab) *nameCallers {
	return &nameCallers{functions: newFunctions[nameAsked](), lab: l}
}

// lives receives the reply to a create or an open.
func (c *nameCallers) lives(asked nameAsked) func(attachment.Ref, error) {
	return functionFor(&c.functions, asked, func(ref attachment.Ref, err error) {
		l := c.lab
		if asked.kind == nameOpen {
			l.world.members[l.member].opens--
		}
		switch {
		case err == nil:
			life := l.world.lifeOf(ref)
			own := asked.kind == nameCreate && life == asked.life
			l.answers = append(l.answers, nameAnswer{to: asked, life: life, alive: true, own: own})
		case errors.Is(err, sequencer.ErrNotFound):
			l.answers = append(l.answers, nameAnswer{to: asked, life: l.world.ended(l.member)})
		}
	})
}

// ends receives the reply to a destroy.
func (c *nameCallers) ends(asked nameAsked) func(error) {
	return functionFor(&c.functions, asked, func(err error) {
		switch {
		case err == nil:
			c.lab.answers = append(c.lab.answers, nameAnswer{to: asked, life: asked.life, own: true})
		case errors.Is(err, sequencer.ErrNotFound):
			l := c.lab
			l.answers = append(l.answers, nameAnswer{to: asked, life: l.world.ended(l.member)})
		}
	})
}

// shown receives the reply to a holder's claim. It makes no statement about the name.
func (c *nameCallers) shown() func([]partition.Renewed, error) {
	return functionFor(&c.functions, nameAsked{kind: nameShow}, func([]partition.Renewed, error) {})
}

// requests emits each request that an owner may get.
func (l *nameLab) requests(w *nameWorld, m int, emit emitName) {
	n := w.members[m]
	asked := nameAsked{newest: w.newest, dead: w.dead, version: n.version}
	if n.opens == 0 && (w.newest >= 0 || l.scope.Opens) {
		l.request(w, m, 0, func(machine *partition.Machine, v partition.View) {
			l.world.members[m].opens++
			machine.Open(v, name, l.callers.lives(asked))
		}, emit, "is asked for the name")
	}
	if w.ops >= l.scope.Operations {
		return
	}
	table := n.machine.Table()
	ref, err := table.Open(name)
	switch {
	case !table.Complete():
	case err == nil:
		asked.kind, asked.life = nameDestroy, w.lifeOf(ref)
		l.request(w, m, 1, func(machine *partition.Machine, v partition.View) {
			machine.Destroy(v, name, ref.Life, l.callers.ends(asked))
		}, emit, "is asked to destroy life %d", ref.Life[0])
	case len(w.lives) < l.scope.Lives:
		asked.kind, asked.life = nameCreate, len(w.lives)
		ref = attachment.Ref{Definition: definition(), Life: attachment.Life{byte(len(w.lives) + 1)}}
		l.request(w, m, 1, func(machine *partition.Machine, v partition.View) {
			l.world.begin(m, ref)
			machine.Create(v, ref, l.callers.lives(asked))
		}, emit, "is asked to create life %d", len(w.lives)+1)
	}
	if l.scope.Fold && w.dead && table.Complete() && err != nil {
		l.request(w, m, 1, func(machine *partition.Machine, v partition.View) {
			v.Time = latest
			machine.Tick(v)
		}, emit, "forgets the tombstone")
	}
	for i, life := range w.lives {
		if !l.scope.Show || life.answered == 0 || err == nil && ref.Life == life.ref.Life {
			continue
		}
		l.request(w, m, 1, func(machine *partition.Machine, v partition.View) {
			c := partition.Claim{Ref: life.ref, Grid: v.Roster.Identity(), Version: life.answered}
			machine.Renew(v, holderName(0), []partition.Claim{c}, l.callers.shown())
		}, emit, "is shown life %d", i+1)
	}
}

// request delivers a request to an owner, if it has any effect.
func (l *nameLab) request(w *nameWorld, m, ops int, do func(*partition.Machine, partition.View), emit emitName,
	format string, args ...any) {
	next := w.fork()
	l.call(next, m, do)
	next.ops += ops
	if i := len(w.lives); i < len(next.lives) {
		next.lives[i].ref = next.members[m].record().Ref // with its birth
	}
	if ops == 0 || l.differ(w.members[m], next.members[m]) {
		emit(next, "%s "+format, append([]any{l.tell(w, m)}, args...)...)
	}
}

// begin records a life that is about to replace the one in a member's table.
func (w *nameWorld) begin(m int, ref attachment.Ref) {
	replaced := -1
	if r := w.members[m].record(); !r.Ref.Life.IsZero() {
		replaced = w.lifeOf(r.Ref)
	} else if w.dead {
		replaced = w.newest
	}
	w.lives = append(w.lives, nameLife{ref: ref, replaced: replaced})
}

// ended returns the life whose end an owner reports as an unknown name: the tombstone in its table,
// or the life that a later one has replaced since; -1 for none.
func (w *nameWorld) ended(m int) int {
	r := w.members[m].record()
	switch life := w.lifeOf(r.Ref); {
	case life < 0 || r.Destroyed:
		return life
	default:
		return w.lives[life].replaced
	}
}

// record returns the name's record in a member's table, zero for none.
func (m *nameMember) record() partition.DefinitionRecord {
	for _, r := range m.machine.Table().Definitions().Records {
		if r.Ref.Definition.Name() == name {
			return r
		}
	}
	return partition.DefinitionRecord{}
}

func (w *nameWorld) lifeOf(ref attachment.Ref) int {
	for i, l := range w.lives {
		if l.ref.Life == ref.Life {
			return i
		}
	}
	return -1
}
