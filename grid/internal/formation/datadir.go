package formation

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/identity"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// A data directory holds a member's durable state: its identity (.member.meta), its Raft server's log,
// term and vote (raft.db) with snapshots that replace the log's beginning (snapshots/), and
// acknowledged sequencer definitions (definitions.db, see definitions.go). They belong together. A
// server that returns under its old ID without its log retracts votes and acknowledgements, and two
// owners may then grant the same IDs (B2, R8); so an incomplete directory is refused.
//
//	identity      log                            start
//	-----------   ----------------------------   -------------------------------
//	none          no entries                     a new member
//	none          entries                        refused: its member is unknown
//	no grid       any                            a member in no grid yet
//	grid, forming no command                     the attempt is forgotten
//	grid, forming a command                      continues: the attempt succeeded
//	grid          the one the identity names     continues
//	grid          missing, empty or another      refused: the log was lost

// OpenDataDir opens the durable state of a member, or creates it in memory if dir is "".
func OpenDataDir(dir string, log io.Writer) (raftlog.Stores, *definitions.Store, *Identity, error) {
	if dir == "" {
		id, err := LoadIdentity("")
		return raftlog.InMemory(), nil, id, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return raftlog.Stores{}, nil, nil, refusal.Invalid(
			"DataDir: cannot create %s: %v; create it for this process's user, or choose another", dir, err)
	}
	if err := identity.Restrict(dir, []string{identityFile, identity.ApplicationFile, identity.NodesFile, raftlog.File,
		definitions.File}, raftlog.SnapshotDir); err != nil {
		return raftlog.Stores{}, nil, nil, refusal.Invalid("DataDir: %v", err)
	}
	if err := checkLogFile(dir); err != nil { // before opening it makes one
		return raftlog.Stores{}, nil, nil, err
	}
	s, err := raftlog.OpenStores(dir, log)
	if err != nil {
		return raftlog.Stores{}, nil, nil, err
	}
	var defs *definitions.Store
	id, err := LoadIdentity(dir) // again: this process has the directory's lock only now
	if err == nil {
		err = checkDefinitionsOwned(id) // before the identity is kept
	}
	if err == nil {
		err = belongsTo(s, id)
	}
	if err == nil {
		defs, err = openDefinitions(id)
	}
	if err != nil {
		return raftlog.Stores{}, nil, nil, errors.Join(err, s.Close())
	}
	return s, defs, id, nil
}

// checkLogFile refuses a directory if its identity names a grid and its log is missing or empty.
func checkLogFile(dir string) error {
	id, err := LoadIdentity(dir)
	if err != nil {
		return err
	}
	if err := checkNotRecovering(dir); err != nil || !id.needsLog() {
		return err
	}
	path := filepath.Join(dir, raftlog.File)
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
func (id *Identity) needsLog() bool { return !id.Grid.IsZero() && !id.Forming }

func logLost(id *Identity, path, what string) error {
	return refusal.Invalid(
		"DataDir: %s %s, but member %s belongs to grid %s: it must not return under its ID without its log and its vote; "+
			"put the file back if it was moved, else %s", path, what, id.Member, id.Grid, raftlog.DamageAdvice)
}

// belongsTo refuses a log that is not the identity's, or is not whole, and settles a
// attempt that was not completed.
func belongsTo(s raftlog.Stores, id *Identity) error {
	l := s.Disk
	path := filepath.Join(l.Dir, raftlog.File)
	contents, err := s.Check()
	if err != nil {
		return refusal.Invalid("DataDir: %v", err)
	}
	switch {
	case id.isNew && contents.Last > 0:
		return refusal.Invalid(
			"DataDir: %s is missing next to a log; restore it, or start with an empty directory as a new member",
			filepath.Join(l.Dir, identityFile))
	case id.needsLog() && id.Log != l.ID:
		return logLost(id, path, "is not this member's log")
	case id.Forming && !contents.Command:
		if err := l.Clear(); err != nil {
			return refusal.Invalid("DataDir: %v", err)
		}
		id.Grid = roster.GridID{}
	case !id.isNew && !id.Forming && id.Log == l.ID:
		return nil
	}
	id.Forming, id.Log = false, l.ID
	if err := id.Save(); err != nil {
		return refusal.Invalid("DataDir: %v", err)
	}
	return nil
}
