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
	r, err := s.Replay(func(index uint64, cause error) error {
		return fmt.Errorf("entry %d of the roster's log is damaged, or of another version: %w", index, cause)
	})
	return r.Roster, err
}

// Replayed is the content of the newest snapshot and the log after it, with uncommitted entries.
type Replayed struct {
	Roster  *roster.Roster // an unformed one if they are empty
	Servers []raft.Server  // of the snapshot
	// Configuration is the last entry with a later configuration of the servers, encoded; nil for none.
	Configuration []byte
	Last          raft.Log // only Index and Term
}

// Replay reads the newest snapshot and the log. unreadable returns the error of an entry that is not a command.
func (s Stores) Replay(unreadable func(index uint64, cause error) error) (r Replayed, err error) {
	r.Roster = new(roster.Roster)
	taken, err := s.Snaps.List()
	if err != nil {
		return r, err
	}
	if len(taken) > 0 {
		meta := taken[0]
		if r.Roster, err = readSnapshot(s.Snaps, meta.ID); err != nil {
			return r, err
		}
		r.Servers, r.Last = meta.Configuration.Servers, raft.Log{Index: meta.Index, Term: meta.Term}
	}
	first, err := s.Logs.FirstIndex()
	if err != nil {
		return r, err
	}
	last, err := s.Logs.LastIndex()
	if err != nil {
		return r, err
	}
	for index := max(first, r.Last.Index+1); index <= last; index++ {
		var entry raft.Log
		if err := s.Logs.GetLog(index, &entry); err != nil {
			return r, err
		}
		r.Last.Index, r.Last.Term = entry.Index, entry.Term
		switch entry.Type {
		case raft.LogConfiguration:
			r.Configuration = append([]byte{}, entry.Data...) // not nil
		case raft.LogCommand:
			c, err := wire.DecodeCommand(entry.Data)
			if err != nil {
				return r, unreadable(index, err)
			}
			r.Roster, _ = r.Roster.Apply(c) // as on every member, a command that is refused changes nothing
		}
	}
	return r, nil
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
