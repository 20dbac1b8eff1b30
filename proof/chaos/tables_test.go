package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/proof/chaos/history"
)

// The operations on one name and their results have to be explained by one table that
// performs them in some order: porcupine searches for such an order. Some steps have no
// caller and may happen or not:
//
//   - A call without an answer may happen at any time after it began, or never.
//   - An attachment may expire after its holder was possibly silent for a window, but
//     not earlier.
//   - A long call may have been sent twice, and the first message may arrive late.
//   - A destroy first asks the holders to release their logical nodes, and each of them
//     then considers the life ended. So from the call of a destroy on, a holder may see
//     the end and its logical node may be free, while the table has the name until the
//     destroy is applied, or permanently if the owner is killed before.
//   - When a partition has lost every copy, its tables may be forgotten. The members
//     report the time; from then on everything is allowed.
//
// A step that may never happen is an operation without an end that changes nothing at the
// end of the history, where the search can always put it.

// session is the time of silence after which the grid reclaims the logical nodes of a
// holder: the window.
const session = 15 * time.Second

// lateTry is how long a try may be on its way after the call was answered by
// another; a call without a second try is shorter than oneTry.
const (
	lateTry = 30 * time.Second
	oneTry  = 300 * time.Millisecond
)

// lossSlack bounds how late the members notice that a partition lost its copies.
const lossSlack = 10 * time.Second

// forever is the end of operations that may never happen.
const forever = int64(1) << 62

// losses are the times at which partitions lost every copy.
type losses map[roster.PartitionID][]time.Duration

// step is an operation on the table of one name.
type step struct {
	kind    stepKind
	handle  int // numbers the handles of all processes
	node    int
	outcome history.Outcome
}

type stepKind int

const (
	stepCreate stepKind = iota
	stepOpen
	stepAttach
	stepDetach
	stepAsk // a destroy asks the holders
	stepDestroy
	stepExpire // handle's attachment of node, by the grid
	stepForget // every copy was lost
)

func (k stepKind) String() string {
	return [...]string{"create", "open", "attach", "detach", "ask", "destroy", "expire", "forget"}[k]
}

// table is the state: the assumed table of one name.
type table struct {
	exists  bool
	life    int         // numbers the lives
	lives   map[int]int // life of each handle
	asked   int         // the latest life whose holders were asked by a destroy
	holders map[int]int // handle that holds each assigned logical node
	lost    bool        // anything may be
}

func (t table) clone() table {
	t.lives, t.holders = maps.Clone(t.lives), maps.Clone(t.holders)
	return t
}

func (t table) equal(u table) bool {
	return t.exists == u.exists && t.life == u.life && t.asked == u.asked && t.lost == u.lost &&
		maps.Equal(t.lives, u.lives) && maps.Equal(t.holders, u.holders)
}

// alive tells whether a handle is on the life that the name has.
func (t table) alive(handle int) bool {
	life, known := t.lives[handle]
	return known && t.exists && life == t.life
}

// ending tells whether a handle's life has ended, or its holders were asked because
// it is about to.
func (t table) ending(handle int) bool {
	life, known := t.lives[handle]
	return known && (!t.alive(handle) || life == t.asked)
}

// begin makes sure that the name has a life.
func (t *table) begin() {
	if !t.exists {
		t.exists, t.holders = true, map[int]int{}
		t.life++
	}
}

// take does a step, and tells whether it can have ended as it did.
func (t table) take(s step) (bool, table) {
	if t.lost {
		return true, t
	}
	next := t.clone()
	switch s.kind {
	case stepCreate:
		next.begin()
		if s.outcome == history.OK {
			next.lives[s.handle] = next.life
		}
		return true, next
	case stepOpen:
		if s.outcome == history.NotFound {
			return !t.exists, t
		}
		next.lives[s.handle] = t.life
		return t.exists, next
	case stepAttach:
		if s.outcome == history.Destroyed {
			return t.ending(s.handle), t
		}
		_, taken := t.holders[s.node]
		next.holders[s.node] = s.handle
		return t.alive(s.handle) && (!taken || t.life == t.asked), next
	case stepDetach:
		if s.outcome == history.Destroyed {
			return t.ending(s.handle), t
		}
		maps.DeleteFunc(next.holders, func(_, handle int) bool { return handle == s.handle })
		return true, next
	case stepExpire:
		if t.holders[s.node] == s.handle {
			delete(next.holders, s.node)
		}
		return true, next
	case stepAsk:
		if t.alive(s.handle) {
			next.asked = t.life
		}
		return true, next
	case stepDestroy:
		if t.alive(s.handle) {
			next.exists = false // the next life starts without holders
		}
		return true, next
	case stepForget:
		return true, table{lost: true}
	}
	panic("chaos: no such step")
}

var tableModel = porcupine.Model{
	Init: func() any { return table{lives: map[int]int{}, holders: map[int]int{}} },
	Step: func(state, input, _ any) (bool, any) {
		ok, next := state.(table).take(input.(step))
		return ok, next
	},
	Equal: func(a, b any) bool { return a.(table).equal(b.(table)) },
	DescribeOperation: func(input, _ any) string {
		s := input.(step)
		return fmt.Sprintf("%v handle %d.%d node %d: %v", s.kind, s.handle>>32, s.handle&(1<<32-1), s.node, s.outcome)
	},
}

// tableVerdict is the result of checkTables.
type tableVerdict struct {
	names      int
	operations int
	forgetful  int      // names whose partition may have lost every copy: checked up to there
	broken     []string // names without an explanation
	undecided  []string // names whose search took too long
	evidence   []string // of each broken name, its steps
}

// checkTables looks for an explanation of each name's operations.
func checkTables(runs []holderRun, lost losses, limit time.Duration) tableVerdict {
	var v tableVerdict
	for name, ops := range tableHistories(runs, lost) {
		v.names++
		v.operations += len(ops)
		if slices.ContainsFunc(ops, func(op porcupine.Operation) bool { return op.Input.(step).kind == stepForget }) {
			v.forgetful++
		}
		switch porcupine.CheckOperationsTimeout(tableModel, ops, limit) {
		case porcupine.Illegal:
			v.broken = append(v.broken, name)
			v.evidence = append(v.evidence, evidence(name, ops, limit))
		case porcupine.Unknown:
			v.undecided = append(v.undecided, name)
		case porcupine.Ok:
		}
	}
	slices.Sort(v.broken)
	slices.Sort(v.undecided)
	return v
}

// evidence lists the steps of a name in the order of their calls, and says how far
// the best attempt at an explanation came.
func evidence(name string, ops []porcupine.Operation, limit time.Duration) string {
	_, info := porcupine.CheckOperationsVerbose(tableModel, ops, limit)
	explained := map[porcupine.Operation]int{}
	for _, attempt := range info.PartialLinearizationsOperations()[0] {
		if len(attempt) > len(explained) {
			explained = map[porcupine.Operation]int{}
			for i, op := range attempt {
				explained[op] = i + 1
			}
		}
	}
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the longest explanation has %d of %d steps; times in ms, place in the explanation first\n\n",
		name, len(explained), len(ops))
	for _, op := range ops {
		from, till := (op.Call-ops[0].Call)/int64(time.Millisecond), "ever"
		if op.Return != forever {
			till = fmt.Sprint((op.Return - ops[0].Call) / int64(time.Millisecond))
		}
		fmt.Fprintf(&b, "    %3d  %6d to %6s  process %2d  %s\n", explained[op], from, till, op.ClientId,
			tableModel.DescribeOperation(op.Input, nil))
	}
	return b.String()
}
