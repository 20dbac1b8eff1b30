//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/proof/chaos/history"
	"github.com/snowgrid/snowgrid/sequencer"
)

// patience is how long an operation may take before its outcome is unknown.
const patience = 5 * time.Second

// holder performs operations and records them.
type holder struct {
	client  *client.Client
	to      *history.Writer
	handles *atomic.Int64 // counts the handles of the process
	repeat  bool          // note one ID twice
}

// handle is one sequencer's handle and its number in the history.
type handle struct {
	*sequencer.Sequencer
	number int
}

// must ends the process when the history cannot be written: what it would do from
// then on would go unseen.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "holder: the history cannot be written:", err)
		os.Exit(2)
	}
}

// create gets or creates a name; the handle is nil if that failed.
func (h *holder) create(ctx context.Context, name string) *handle {
	number := int(h.handles.Add(1))
	op, err := h.to.Call(history.Create, name, number)
	must(err)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := h.client.CreateSequencer(ctx, name, sequencer.Config{})
	outcome := outcomeOf(err)
	switch {
	case s == nil:
		must(h.to.Return(op, outcome, -1, nil))
		return nil
	case outcome == history.Destroyed:
		outcome = history.Orphaned
	case outcome != history.OK:
		outcome = history.HalfDone
	}
	must(h.to.Return(op, outcome, nodeOf(s), nil))
	return &handle{Sequencer: s, number: number}
}

// open gets a name that exists; the handle is nil if that failed.
func (h *holder) open(ctx context.Context, name string) *handle {
	number := int(h.handles.Add(1))
	op, err := h.to.Call(history.Open, name, number)
	must(err)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := h.client.OpenSequencer(ctx, name)
	must(h.to.Return(op, outcomeOf(err), -1, nil))
	if err != nil {
		return nil
	}
	return &handle{Sequencer: s, number: number}
}

// ask does one of a handle's operations.
func (h *holder) ask(ctx context.Context, kind history.Kind, on *handle) history.Outcome {
	op, err := h.to.Call(kind, on.Name(), on.number)
	must(err)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch kind {
	case history.Attach:
		err = on.AttachLogicalNode(ctx)
	case history.Detach:
		err = on.DetachLogicalNode(ctx)
	case history.Destroy:
		err = on.Destroy(ctx)
	default:
		panic("holder: no operation of a handle: " + kind.String())
	}
	node := -1
	if kind == history.Attach && err == nil {
		node = nodeOf(on.Sequencer)
	}
	outcome := outcomeOf(err)
	must(h.to.Return(op, outcome, node, nil))
	return outcome
}

// fill takes IDs and notes them.
func (h *holder) fill(ctx context.Context, kind history.Kind, on *handle, ids []sequencer.ID) (int, error) {
	op, err := h.to.Call(kind, on.Name(), on.number)
	must(err)
	n, err := on.Fill(ctx, ids)
	var runs []history.Run
	for _, id := range ids[:n] {
		runs = history.AppendRuns(runs, int64(id))
	}
	if h.repeat && n > 0 {
		h.repeat = false
		runs = append(runs, history.Run{First: int64(ids[0]), Count: 1})
	}
	must(h.to.Return(op, outcomeOf(err), -1, runs))
	return n, err
}

func nodeOf(s *sequencer.Sequencer) int {
	if node, attached := s.LogicalNode(); attached {
		return int(node)
	}
	return -1
}

// outcomeOf returns the outcome of an operation that ended with err.
func outcomeOf(err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, sequencer.ErrNotFound):
		return history.NotFound
	case errors.Is(err, sequencer.ErrDestroyed):
		return history.Destroyed
	case errors.Is(err, sequencer.ErrAttached), errors.Is(err, sequencer.ErrDetached):
		return history.Refused
	}
	return history.Unknown
}
