package raftlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// fsm applies agreed commands to the roster.
type fsm struct {
	state    *state.State
	diverged *divergence
	last     raft.Log // of the log at the start; the zero value if it was empty
	changed  func(before, after *roster.Roster)
}

// lastEntry returns the last entry of a log, the zero value if there is none.
func lastEntry(logs raft.LogStore) (last raft.Log, err error) {
	index, err := logs.LastIndex()
	if err == nil && index > 0 {
		err = logs.GetLog(index, &last)
	}
	return last, err
}

// replays reports whether an entry was in the log at the start, so that its time is old.
// One of a later term takes the place of entries that were never agreed on, of which
// there may be any number.
func (f fsm) replays(entry *raft.Log) bool {
	return entry.Index <= f.last.Index && entry.Term <= f.last.Term
}

// Apply implements raft.FSM; it returns nil or the error of a refused command. After a
// command that cannot be read none is applied.
func (f fsm) Apply(entry *raft.Log) any {
	if err := f.diverged.failure(); err != nil {
		return err
	}
	c, err := wire.DecodeCommand(entry.Data)
	if err != nil {
		return f.diverged.because(unreadable(fmt.Sprintf("entry %d of the roster's log", entry.Index), err))
	}
	before := f.state.Roster()
	next, err := before.Apply(c)
	if err != nil {
		return err
	}
	f.changed(before, next)
	f.state.Apply(next, c.Raise != nil && !f.replays(entry))
	return nil
}

// Snapshot implements raft.FSM. A roster is never changed, so it is its own copy.
// Of a roster that lacks a command there is none: Raft would start from it.
func (f fsm) Snapshot() (raft.FSMSnapshot, error) {
	if err := f.diverged.failure(); err != nil {
		return nil, err
	}
	return rosterSnapshot{f.state.Roster()}, nil
}

// Restore implements raft.FSM.
func (f fsm) Restore(from io.ReadCloser) error {
	defer func() { _ = from.Close() }()
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	r, err := wire.DecodeRoster(data)
	if err != nil {
		return f.diverged.because(unreadable("a snapshot of the roster", err))
	}
	f.state.Apply(r, false)
	return nil
}

type rosterSnapshot struct{ roster *roster.Roster }

// Persist implements raft.FSMSnapshot.
func (s rosterSnapshot) Persist(sink raft.SnapshotSink) error {
	data, err := wire.EncodeRoster(s.roster)
	if err == nil {
		_, err = sink.Write(data)
	}
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s rosterSnapshot) Release() {}
