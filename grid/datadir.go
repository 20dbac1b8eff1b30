package grid

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/roster"
)

// A data directory holds what a member must not forget: its identity (.member.meta),
// the log, term and vote of its Raft server (raft.db) with the snapshots that take the
// place of the log's beginning (snapshots/), and the definitions of sequencers that it
// acknowledged (definitions.db, see definitions.go). They belong together. A server that
// comes back under its old ID without its log takes back votes and acknowledgements,
// and two owners may grant the same IDs then (B2, R8); so a directory of which a part
// was lost is refused.
//
//	identity      log                            start
//	-----------   ----------------------------   -------------------------------
//	none          no entries                     a new member
//	none          entries                        refused: its member is unknown
//	no grid       any                            a member in no grid yet
//	grid, forming no command                     the founding is forgotten
//	grid, forming a command                      goes on: the founding succeeded
//	grid          the one the identity names     goes on
//	grid          missing, empty or another      refused: the log was lost

// openDataDir opens what a member keeps, or makes it in memory if dir is "".
func openDataDir(dir string, log io.Writer) (stores, *identity, error) {
	if dir == "" {
		s := raft.NewInmemStore()
		id, err := loadIdentity("")
		return stores{logs: s, stable: s, snaps: raft.NewInmemSnapshotStore(), close: func() error { return nil }}, id, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return stores{}, nil, refusal.Invalid("DataDir: cannot create %s: %v", dir, err)
	}
	if err := checkLogFile(dir); err != nil { // before opening it makes one
		return stores{}, nil, err
	}
	s, err := openStores(dir, log)
	if err != nil {
		return stores{}, nil, err
	}
	id, err := loadIdentity(dir) // again: this process has the directory's lock only now
	if err == nil {
		err = checkDefinitionsOwned(id) // before the identity is kept
	}
	if err == nil {
		err = s.disk.belongsTo(id, s.snaps)
	}
	if err == nil {
		s.definitions, err = openDefinitions(id)
	}
	if err != nil {
		return stores{}, nil, errors.Join(err, s.close())
	}
	return s, id, nil
}

// checkLogFile refuses a directory whose identity names a grid and whose log is
// missing or empty.
func checkLogFile(dir string) error {
	id, err := loadIdentity(dir)
	if err != nil {
		return err
	}
	if err := checkNotRecovering(dir); err != nil || !id.needsLog() {
		return err
	}
	path := filepath.Join(dir, raftLogFile)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return logLost(id, path, "is missing")
	case err != nil:
		return refusal.Invalid("DataDir: %v", err)
	case info.Size() == 0:
		return logLost(id, path, "is empty")
	}
	return nil
}

// needsLog reports whether the member may have voted or acknowledged entries in its
// grid, so that it must not start without the log of that grid.
func (id *identity) needsLog() bool { return !id.Grid.IsZero() && !id.Forming }

func logLost(id *identity, path, what string) error {
	return refusal.Invalid("DataDir: %s %s, but member %s belongs to grid %s: without its log and its vote it must not return under its ID; "+
		"put the file back if it was moved, else start with an empty directory as a new member", path, what, id.Member, id.Grid)
}

// belongsTo refuses a log that is not the identity's, or is not whole, and settles a
// founding that was not completed.
func (l *raftLog) belongsTo(id *identity, snaps raft.SnapshotStore) error {
	path := filepath.Join(l.dir, raftLogFile)
	contents, err := l.check(snaps)
	if err != nil {
		return refusal.Invalid("DataDir: %v", err)
	}
	switch {
	case id.isNew && contents.last > 0:
		return refusal.Invalid("DataDir: %s is missing beside a log; restore it, or start with an empty directory as a new member",
			filepath.Join(l.dir, identityFile))
	case id.needsLog() && id.Log != l.id:
		return logLost(id, path, "is another log than this member's")
	case id.Forming && !contents.command:
		if err := l.clear(); err != nil {
			return refusal.Invalid("DataDir: %v", err)
		}
		id.Grid = roster.GridID{}
	case !id.isNew && !id.Forming && id.Log == l.id:
		return nil
	}
	id.Forming, id.Log = false, l.id
	if err := id.save(); err != nil {
		return refusal.Invalid("DataDir: %v", err)
	}
	return nil
}

// logContents is what is in a log.
type logContents struct {
	last    uint64 // index of the last entry, 0 = none
	command bool   // there is a command, or a snapshot of what commands led to
}

// check reads the whole log, so that Raft, which panics over an entry that it cannot
// read, finds every one. It is short: snapshots cut it.
func (l *raftLog) check(snaps raft.SnapshotStore) (c logContents, err error) {
	taken, err := snaps.List()
	if err != nil {
		return c, damaged(l.dir, snapshotDir, err)
	}
	var newest uint64
	for _, s := range taken {
		newest = max(newest, s.Index)
	}
	recorded, err := l.GetUint64(snapshotKey)
	if err != nil && !errors.Is(err, errKeyNotFound) {
		return c, damaged(l.dir, raftLogFile, err)
	}
	first, err := l.FirstIndex()
	if err != nil {
		return c, damaged(l.dir, raftLogFile, err)
	}
	if newest < recorded || first > newest+1 {
		return c, snapshotLost(l.dir, max(recorded, max(first, 1)-1))
	}
	c.command = newest > 0
	if c.last, err = l.LastIndex(); err != nil {
		return c, damaged(l.dir, raftLogFile, err)
	}
	if c.last == 0 {
		return c, nil
	}
	for index := first; index <= c.last; index++ {
		var entry raft.Log
		if err := l.GetLog(index, &entry); err != nil {
			return c, damaged(l.dir, raftLogFile, fmt.Errorf("entry %d: %w", index, err))
		}
		c.command = c.command || entry.Type == raft.LogCommand
	}
	return c, nil
}
