package chaos

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/proof/chaos/history"
)

// tableHistories converts the holders' histories to the steps of each name's table.
func tableHistories(runs []holderRun, lost losses) map[string][]porcupine.Operation {
	names := map[string]*steps{}
	for i, run := range runs {
		detached := detaches(run.ops)
		for j, op := range run.ops {
			if op.Kind == history.Fill || op.Kind == history.Final || op.Outcome == history.Refused {
				continue
			}
			s := names[op.Name]
			if s == nil {
				s = &steps{}
				names[op.Name] = s
			}
			s.client = i
			s.add(op, i<<32|op.Handle, detached[j])
		}
	}
	out := map[string][]porcupine.Operation{}
	for name, s := range names {
		for _, at := range lost[roster.PartitionOf(name, roster.DefaultPartitions)] {
			if at > s.first {
				s.put(step{kind: stepForget}, at-lossSlack, 0)
			}
		}
		out[name] = slices.DeleteFunc(s.all, func(op porcupine.Operation) bool {
			return op.Call > int64(s.last) // after everything that it could matter to
		})
	}
	return out
}

// steps are the steps of one name.
type steps struct {
	all         []porcupine.Operation
	client      int
	first, last time.Duration // of the operations
}

// put adds a step; without a return it may happen at any later time.
func (s *steps) put(what step, call, answer time.Duration) {
	end := int64(answer)
	if answer == 0 {
		end = forever
	}
	s.all = append(s.all, porcupine.Operation{ClientId: s.client, Input: what, Call: int64(call), Return: end})
}

// add turns an operation into its steps. until is when the attachment that it made
// was given back for certain, 0 if that is not known.
func (s *steps) add(op history.Op, handle int, until time.Duration) {
	if len(s.all) == 0 || op.Call < s.first {
		s.first = op.Call
	}
	s.last = max(s.last, op.Call, op.Return)
	answer := op.Return
	if op.Outcome == 0 || op.Outcome == history.Unknown {
		answer = 0
	}
	switch op.Kind {
	case history.Create:
		s.create(op, handle, answer, until)
	case history.Open:
		if answer != 0 { // else it had no effect
			s.put(step{kind: stepOpen, handle: handle, outcome: op.Outcome}, op.Call, answer)
		}
	case history.Attach:
		s.attach(op, handle, op.Outcome, until)
	case history.Detach:
		s.put(step{kind: stepDetach, handle: handle, outcome: op.Outcome}, op.Call, answer)
	case history.Destroy:
		s.put(step{kind: stepAsk, handle: handle}, op.Call, answer)
		s.put(step{kind: stepDestroy, handle: handle, outcome: op.Outcome}, op.Call, answer)
	case history.Fill, history.Final:
	}
}

// create is a create and an attach, between which others come.
func (s *steps) create(op history.Op, handle int, answer, until time.Duration) {
	created, attached := op.Outcome, op.Outcome
	switch op.Outcome {
	case history.HalfDone:
		created, attached = history.OK, history.Unknown
	case history.Orphaned:
		created, attached = history.OK, history.Destroyed
	default:
	}
	s.put(step{kind: stepCreate, handle: handle, outcome: created}, op.Call, answer)
	if op.Return == 0 || op.Return-op.Call > oneTry {
		again := time.Duration(0)
		if answer != 0 {
			again = answer + lateTry
		}
		s.put(step{kind: stepCreate, handle: handle, outcome: history.Unknown}, op.Call, again)
	}
	s.attach(op, handle, attached, until)
}

// attach is an attach whose outcome is known. One that is not may hold any logical
// node until it expires; that only makes others impossible, so it is left out.
func (s *steps) attach(op history.Op, handle int, outcome history.Outcome, until time.Duration) {
	switch {
	case outcome == history.Destroyed:
		s.put(step{kind: stepAttach, handle: handle, outcome: outcome}, op.Call, op.Return)
	case outcome == history.OK && op.Node >= 0:
		s.put(step{kind: stepAttach, handle: handle, node: op.Node, outcome: outcome}, op.Call, op.Return)
		if from := op.Call + session; until == 0 || until > from {
			s.put(step{kind: stepExpire, handle: handle, node: op.Node}, from, until)
		}
	}
}

// detaches returns, for each operation that attached, when the answer to its detach
// came.
func detaches(ops []history.Op) map[int]time.Duration {
	open, out := map[int]int{}, map[int]time.Duration{} // open: the attaching operation of each handle
	for i, op := range ops {
		switch op.Kind {
		case history.Create, history.Attach:
			open[op.Handle] = i
		case history.Detach:
			if at, attached := open[op.Handle]; attached && (op.Outcome == history.OK || op.Outcome == history.Destroyed) {
				out[at] = op.Return
			}
			delete(open, op.Handle)
		default:
		}
	}
	return out
}
