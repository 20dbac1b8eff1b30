package raftlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// fsm applies agreed commands to the roster.
type fsm struct {
	followed *followed
	diverged *divergence
	last     raft.Log      // the log's at the start; the zero value if it was empty
	term     func() uint64 // Raft's current term, 0 while Raft starts
	changed  func(before, after *roster.Roster)
}

func lastEntry(logs raft.LogStore) (last raft.Log, err error) {
	index, err := logs.LastIndex()
	if err == nil && index > 0 {
		err = logs.GetLog(index, &last)
	}
	return last, err
}

// replays reports whether an entry may be old: it was in the log at the start, or an earlier leader wrote it, perhaps
// before the whole grid was stopped. The log of a member that was stopped first ends before that. An entry by the
// present leader replaces any number of uncommitted entries.
func (f fsm) replays(entry *raft.Log) bool {
	return entry.Index <= f.last.Index && entry.Term <= f.last.Term || entry.Term < f.term()
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
	before, after, err := f.followed.commit(follow.Position(entry.Index), c, !f.replays(entry))
	if err != nil {
		return err
	}
	f.changed(before, after)
	return nil
}

// Snapshot implements raft.FSM. A roster is never changed, so it is its own copy.
// Of a roster that lacks a command there is none: Raft would start from it.
func (f fsm) Snapshot() (raft.FSMSnapshot, error) {
	if err := f.diverged.failure(); err != nil {
		return nil, err
	}
	return rosterSnapshot{f.followed.log()}, nil
}

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
	at, known := positionOf(from)
	if !known {
		return errors.New("grid: a snapshot of the roster has no position")
	}
	f.followed.install(follow.Image{At: at, Roster: r})
	return nil
}

// positioned passes each snapshot's position to its reader: Raft passes only the contents on.
type positioned struct{ raft.SnapshotStore }

func (s positioned) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, from, err := s.SnapshotStore.Open(id)
	if err != nil {
		return meta, from, err
	}
	return meta, positionedSnapshot{from, follow.Position(meta.Index)}, nil
}

type positionedSnapshot struct {
	io.ReadCloser
	at follow.Position
}

// positionOf returns the position in a snapshot opened by positioned.
func positionOf(from io.ReadCloser) (follow.Position, bool) {
	for {
		if s, ok := from.(positionedSnapshot); ok {
			return s.at, true
		}
		wrapper, ok := from.(raft.ReadCloserWrapper)
		if !ok {
			return 0, false
		}
		from = wrapper.WrappedReadCloser()
	}
}

type rosterSnapshot struct{ roster *roster.Roster }

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

func (s rosterSnapshot) Release() {}
