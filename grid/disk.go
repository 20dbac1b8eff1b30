package grid

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// diskError says that a data directory did not take a write, and takes no other
// from this process.
type diskError struct {
	dir, doing string
	cause      error
}

// Error tells what failed, where, and what to do.
func (e *diskError) Error() string {
	return fmt.Sprintf("grid: the disk of data directory %s failed while %s: %v; %s", e.dir, e.doing, e.cause, diskAdvice)
}

// Unwrap returns what the write came to.
func (e *diskError) Unwrap() error { return e.cause }

const diskAdvice = "free space or replace the disk, then restart this process"

// mortalLog is the log as Raft's goroutines get it. The goroutine whose write
// failed ends there, as if the process had died at that point: it answers no
// success, and Raft neither panics, as it would over a term that cannot be kept,
// nor goes on from a state that is not on disk. What it deferred still runs, so
// shutting Raft down goes on to end.
type mortalLog struct{ *raftLog }

// GetLog implements raft.LogStore. Raft panics over an entry that it cannot read.
func (l mortalLog) GetLog(index uint64, entry *raft.Log) error {
	err := l.raftLog.GetLog(index, entry)
	if err == nil || errors.Is(err, raft.ErrLogNotFound) {
		return err
	}
	return dieOf(l.fail("reading the Raft log", err))
}

// StoreLog implements raft.LogStore.
func (l mortalLog) StoreLog(entry *raft.Log) error { return dieOf(l.raftLog.StoreLog(entry)) }

// StoreLogs implements raft.LogStore.
func (l mortalLog) StoreLogs(entries []*raft.Log) error { return dieOf(l.raftLog.StoreLogs(entries)) }

// DeleteRange implements raft.LogStore.
func (l mortalLog) DeleteRange(first, last uint64) error {
	return dieOf(l.raftLog.DeleteRange(first, last))
}

// Set implements raft.StableStore.
func (l mortalLog) Set(key, value []byte) error { return dieOf(l.raftLog.Set(key, value)) }

// SetUint64 implements raft.StableStore.
func (l mortalLog) SetUint64(key []byte, value uint64) error {
	return dieOf(l.raftLog.SetUint64(key, value))
}

// dieOf ends the goroutine over an error.
func dieOf(err error) error {
	if err != nil {
		runtime.Goexit()
	}
	return nil
}

// newRaft starts a Raft node on the stores. Starting writes too, so a disk that
// fails ends the goroutine that starts it; the caller gets the error. Raft panics over
// what it cannot read; that is an error of the directory, and never the end of the
// process.
func (s stores) newRaft(conf *raft.Config, machine raft.FSM, trans raft.Transport) (*raft.Raft, error) {
	if s.disk == nil {
		return raft.NewRaft(conf, machine, s.logs, s.stable, s.snaps, trans)
	}
	var node *raft.Raft
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("%v", r)
			}
			if err != nil {
				err = refusal.Invalid("DataDir: %s or %s is damaged: %v; start with an empty directory as a new member",
					filepath.Join(s.disk.dir, raftLogFile), filepath.Join(s.disk.dir, snapshotDir), err)
			}
		}()
		log := mortalLog{s.disk}
		node, err = raft.NewRaft(conf, machine, log, log, s.snaps, trans)
	}()
	<-ended
	if node == nil && err == nil {
		err = s.disk.failure()
	}
	return node, err
}

// askOutEvery is how often a member whose disk has failed asks to be taken out.
const askOutEvery = 200 * time.Millisecond

// watchPart waits until this member's part in the grid ends, and then sees to it that
// other members take its place, until they have or ctx ends.
func (m *Member) watchPart(ctx context.Context) {
	diskFailed, rosterLost := m.awaitPartEnd()
	select {
	case <-diskFailed:
	case <-rosterLost:
	case <-ctx.Done():
		return
	}
	m.stepDown()
	alone := false
	for ctx.Err() == nil {
		switch {
		case !m.lone && m.othersStay():
			if err := m.askOut(ctx); err == nil {
				m.log.Warn("other members have taken the place of this one; own handles go on", "reason", m.partEnded())
				return
			}
		case !alone:
			alone = true
			m.log.Error("no member is there to take over: holders wait when they have used what is granted", "reason", m.partEnded())
		}
		signal.Sleep(ctx, askOutEvery)
	}
}

// stepDown ends this member's part in the agreement, and says why.
func (m *Member) stepDown() {
	err := m.partEnded()
	var failed *diskError
	if errors.As(err, &failed) {
		m.log.Error("the disk has failed: this member writes nothing more and votes no more; "+diskAdvice,
			"dir", failed.dir, "while", failed.doing, "error", failed.cause)
	} else {
		m.log.Error("roster lost: this member cannot read it, grants by it no longer and votes no more; "+divergenceAdvice, "error", err)
	}
	m.state.Fail(err)
	m.mu.Lock()
	m.leaves[m.self] = true
	m.mu.Unlock()
	if m.gossip != nil {
		m.life.Background(func(context.Context) { m.gossip.announce() })
	}
	if node := m.node(); node != nil {
		ending := node.raft.Shutdown()
		m.life.Background(func(context.Context) { _ = ending.Error() })
	}
}

// askOut asks the leader to take this member out, and returns when that is
// agreed. From here on it grants nothing: it does not hear any more who owns what.
// Before there is anybody to ask it grants below the ceiling that it knows, like
// a member that is cut off, so that the last one can still take nodes back.
func (m *Member) askOut(ctx context.Context) error {
	m.state.Ended.Store(true)
	server := serverID(m.self, m.cfg.DataDir != "")
	return m.atLeader(ctx, wire.PathLeave, wire.LeaveRequest{Incarnation: m.self, Server: string(server), Failed: true})
}

// whileCurrent returns calls of which the directory fails when this member hears
// of no change of owners any more: whoever asks, an own handle too, asks others.
func (m *Member) whileCurrent(calls map[string]*call) map[string]*call {
	directory := calls[wire.PathDirectory]
	serve := directory.serve
	directory.serve = func(ctx context.Context, in any) (any, error) {
		if err := m.partEnded(); err != nil && m.state.Ended.Load() {
			return nil, failure.Errorf(sequencer.ErrUnavailable, "%w", err)
		}
		return serve(ctx, in)
	}
	return calls
}

// failedMembers returns, sorted, the members that have said that their disk has
// failed.
func (m *Member) failedMembers() []roster.Incarnation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.failed))
}

// forgetEarlier forgets that earlier incarnations of a member left, now that one
// joins again. The caller holds m.mu.
func (m *Member) forgetEarlier(joins roster.Incarnation) {
	for inc := range m.leaves {
		if inc != joins && inc.Member() == joins.Member() {
			delete(m.leaves, inc)
			delete(m.failed, inc)
		}
	}
}
