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

// name is the one name of every scope.
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

// reply is a replica's answer to a letter.
type reply struct {
	from, to roster.Incarnation
	version  roster.Version // at which the owner asked
	holds    partition.Holds
}

// lab keeps every roster, process and message that was ever met, each once and
// under a number, so that a state of the whole grid is a handful of numbers. What
// a process does with an input depends on nothing else, so the real machines run
// once for each pair and the result is remembered.
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
	views     []view // of each process
	entriesOf map[entriesKey][]entry
	effects   *effects
	callers   *callers
	encoder   *encoder
	births    []refID // each life's reference before it is born
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

// shelf gives equal things the same number.
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

// view caches properties of a process that are read often.
type view struct {
	newest roster.Term
	acts   bool
}

// base is the tick that is printed as 0: a window, so that cluster time
// begins at 0.
const base = clustertime.Tick(window)

// window is longer than a machine's pauses.
const window clustertime.Span = 2000

// firstTerm is that of A at the start: the grid is formed at version 1.
const firstTerm roster.Term = 2

// incarnation names the nth process of a member, 0 to 2.
func incarnation(member, nth int) roster.Incarnation {
	return roster.Incarnation(fmt.Sprintf("%016x-%016x", member+1, nth))
}

// memberOf is the number of an incarnation's member, which is the last digit of its
// member ID.
func memberOf(i roster.Incarnation) int { return int(i[15] - '1') }

// definition is that of the name in every life. Its epoch is before all ticks.
func definition() sequencer.Definition {
	d, err := sequencer.Define(name, sequencer.Config{Epoch: epoch.UnixMilli(0), Nodes: 128})
	if err != nil {
		panic(err)
	}
	return d
}

// attachmentID is the random ID of a holder's attachment.
func (l *lab) attachmentID(holder int) attachment.ID {
	if l.weak == AttachmentReused {
		holder = 0
	}
	return attachment.ID{byte(holder + 1)}
}

func holderName(holder int) attachment.HolderID {
	return attachment.HolderID(fmt.Sprintf("holder %d", holder+1))
}
