package explore

import (
	"fmt"
	"reflect"

	"github.com/snowgrid/snowgrid/epoch"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// name is the one name in every scope.
const name = "s"

type (
	rosterID  uint32
	processID uint32
	letterID  uint32
	replyID   uint32
	refID     uint32
)

// letter is an update in transit to a replica.
type letter struct {
	from, to roster.Incarnation
	update   partition.Update
}

// reply is a replica's reply to a letter.
type reply struct {
	from, to roster.Incarnation
	version  roster.Version // when the owner sent the question
	holds    partition.Holds
}

// lab stores every roster, process and message that occurred, each once and under a number, so that
// a grid's state is a handful of numbers. A process's result depends only on its state and the
// input, so the real machines run once for each pair and the result is cached.
type lab struct {
	scope Scope
	weak  Weakness

	rosters   shelf[rosterID, *roster.Roster]
	volatile  []*roster.Roster // each without disks
	processes shelf[processID, *process]
	letters   shelf[letterID, letter]
	replies   shelf[replyID, reply]
	refs      shelf[refID, attachment.Ref]
	outcomes  map[work]*outcome
	views     []view // by process
	entriesOf map[entriesKey][]entry
	effects   *effects
	callers   *callers
	encoder   *encoder
	births    []refID // each life's reference before it begins
	runs      int
}

// work is an input to a process.
type work struct {
	process processID
	input   input
}

func newLab(s Scope, weak Weakness) *lab {
	l := &lab{scope: s, weak: weak, outcomes: map[work]*outcome{}, entriesOf: map[entriesKey][]entry{}}
	l.effects, l.callers = &effects{lab: l}, newCallers(l)
	l.encoder = l.machineEncoder()
	for n := range max(1, s.Lives) {
		life := attachment.Life{byte(n + 1)}
		l.births = append(l.births, keep(&l.refs, attachment.Ref{Definition: definition(), Life: life}))
	}
	return l
}

// shelf gives equal values the same number.
type shelf[K ~uint32, V any] struct {
	all    []V
	number map[string]K
}

func (s *shelf[K, V]) put(key []byte, v V) K {
	if s.number == nil {
		s.number = map[string]K{}
	}
	if n, found := s.number[string(key)]; found {
		return n
	}
	n := K(len(s.all))
	s.all = append(s.all, v)
	s.number[string(key)] = n
	return n
}

func (s *shelf[K, V]) get(n K) V { return s.all[n] }

func keep[K ~uint32, V any](s *shelf[K, V], v V) K {
	return s.put(plain.append(nil, reflect.ValueOf(v)), v)
}

// keepProcess numbers a process.
func (l *lab) keepProcess(p *process) processID {
	id := l.processes.put(l.encoder.process(nil, p), p)
	if int(id) == len(l.views) {
		l.views = append(l.views, view{newest: p.machine.Holds().Newest, acts: p.machine.Acts()})
	}
	return id
}

// view caches frequently read properties of a process.
type view struct {
	newest roster.Term
	acts   bool
}

// base is the tick that is printed as 0: one window, so that cluster time begins at 0.
const base = clustertime.Tick(window)

// window is longer than a machine's pauses.
const window clustertime.Span = 2000

// firstTerm is A's term at the start: the grid is formed at version 1.
const firstTerm roster.Term = 2

// incarnation returns a member's nth process, 0 to 2.
func incarnation(member, nth int) roster.Incarnation {
	return roster.Incarnation(fmt.Sprintf("%016x-%016x", member+1, nth))
}

// memberOf returns an incarnation's member number, the last digit of its member ID.
func memberOf(i roster.Incarnation) int { return int(i[15] - '1') }

// definition returns the name's definition in every life. Its epoch is before all ticks.
func definition() sequencer.Definition {
	d, err := sequencer.Define(name, sequencer.Config{Epoch: epoch.UnixMilli(0), Nodes: 128})
	if err != nil {
		panic(err)
	}
	return d
}

// attachmentID returns the random ID for a holder's attachment.
func (l *lab) attachmentID(holder int) attachment.ID {
	if l.weak == AttachmentReused {
		holder = 0
	}
	return attachment.ID{byte(holder + 1)}
}

func holderName(holder int) attachment.HolderID {
	return attachment.HolderID(fmt.Sprintf("holder %d", holder+1))
}
