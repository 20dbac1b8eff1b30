package raftlog

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// Stores holds Raft's log and snapshots.
type Stores struct {
	Logs   raft.LogStore
	Stable raft.StableStore
	Snaps  raft.SnapshotStore
	Disk   *Log // backs logs and stable, nil in memory
	Close  func() error
	files  *snapshots // backs Snaps, nil in memory
}

// OpenStores opens the log and the snapshots of a data directory.
func OpenStores(dir string, log io.Writer) (Stores, error) {
	bolt, err := Open(dir)
	if err != nil {
		return Stores{}, refusal.Invalid("DataDir: %v", err)
	}
	snaps, err := openSnapshots(dir, bolt, log)
	if err != nil {
		return Stores{}, errors.Join(refusal.Invalid("DataDir: %v", err), bolt.Close())
	}
	return Stores{Logs: bolt, Stable: bolt, Snaps: snaps, Disk: bolt, Close: bolt.Close, files: snaps}, nil
}

// InMemory returns empty stores of a member that keeps nothing.
func InMemory() Stores {
	s := raft.NewInmemStore()
	return Stores{Logs: s, Stable: s, Snaps: raft.NewInmemSnapshotStore(), Close: func() error { return nil }}
}

// newRaft starts a Raft node on the stores. Starting also writes, so a failing disk ends the starting
// goroutine; the caller gets the error. Raft panics over unreadable data; that becomes an error about
// the directory, and never ends the process.
func (s Stores) newRaft(conf *raft.Config, machine raft.FSM, trans raft.Transport) (*raft.Raft, error) {
	snaps := positioned{s.Snaps}
	if s.Disk == nil {
		return raft.NewRaft(conf, machine, s.Logs, s.Stable, snaps, trans)
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
				err = refusal.Invalid("DataDir: %s or %s is damaged: %v; %s",
					filepath.Join(s.Disk.Dir, File), filepath.Join(s.Disk.Dir, SnapshotDir), err, DamageAdvice)
			}
		}()
		log := fatalLog{s.Disk}
		node, err = raft.NewRaft(conf, machine, log, log, snaps, trans)
	}()
	<-ended
	if node == nil && err == nil {
		err = s.Disk.Failure()
	}
	return node, err
}

// Known returns the roster after the newest snapshot and the log, an unformed one if they are empty.
// It includes uncommitted entries.
func (s Stores) Known() (*roster.Roster, error) {
	taken, err := s.Snaps.List()
	if err != nil {
		return nil, err
	}
	known, after := new(roster.Roster), uint64(0)
	for _, meta := range taken {
		if known, err = readSnapshot(s.Snaps, meta.ID); err != nil {
			return nil, err
		}
		after = meta.Index
	}
	first, err := s.Logs.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := s.Logs.LastIndex()
	if err != nil || last == 0 {
		return known, err
	}
	for index := max(first, after+1); index <= last; index++ {
		var entry raft.Log
		if err := s.Logs.GetLog(index, &entry); err != nil {
			return nil, err
		}
		if entry.Type != raft.LogCommand {
			continue
		}
		c, err := wire.DecodeCommand(entry.Data)
		if err != nil {
			return nil, fmt.Errorf("entry %d of the roster's log is damaged, or of another version: %w", index, err)
		}
		// As on every member, a command that is refused changes nothing.
		known, _ = known.Apply(c)
	}
	return known, nil
}

func readSnapshot(snaps raft.SnapshotStore, id string) (*roster.Roster, error) {
	_, from, err := snaps.Open(id)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(from)
	if err = errors.Join(err, from.Close()); err != nil {
		return nil, err
	}
	return wire.DecodeRoster(data)
}
