package formation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// A recovery may be interrupted after any step:
//
//	plan in every directory --> every log --> every member's definitions --> every identity --> plans removed
//
// The plan holds everything to write, so that repeating a step is idempotent, and no member starts on
// a directory with a plan.

const recoverFile = "recover.json"

type recoverPlan struct {
	Old     roster.GridID              `json:"old"`
	Grid    roster.GridID              `json:"grid"`
	Members []roster.MemberID          `json:"members"`
	Lost    []roster.MemberID          `json:"lost"`
	First   clustertime.Tick           `json:"first_ms"`
	Logs    map[roster.MemberID]string `json:"logs"` // the ID of each member's new log
	Entries []recoverEntry             `json:"entries"`
	At      clustertime.Tick           `json:"at_ms"` // when it was decided
	// Forgotten and Outdated count the partitions that lost all definitions, and the latest ones.
	Forgotten int `json:"forgotten,omitempty"`
	Outdated  int `json:"outdated,omitempty"`
}

type recoverEntry struct {
	Type raft.LogType `json:"type"`
	Data []byte       `json:"data"`
}

// recoverDir is one data directory, locked.
type recoverDir struct {
	path        string
	stores      raftlog.Stores
	definitions *definitions.Store
	id          *Identity
	plan        *recoverPlan // of a recovery that was begun before, nil for none
	roster      *roster.Roster
	servers     []raft.Server
	last        raft.Log // only Index and Term
}

// openForRecovery locks a directory and reads it.
func openForRecovery(path string) (*recoverDir, error) {
	for _, name := range []string{identityFile, raftlog.File} { // opening would make them
		if info, err := os.Stat(filepath.Join(path, name)); err != nil || info.Size() == 0 {
			return nil, refusal.Invalid("recover: %s holds no member: %s is missing or empty; give the data directory of a "+
				"stopped member", path, name)
		}
	}
	d := &recoverDir{path: path, roster: &roster.Roster{}}
	var err error
	if d.stores, err = raftlog.OpenStores(path, io.Discard); err != nil {
		return nil, err
	}
	if err := d.load(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// load reads a directory's files. After an interrupted recovery they may belong to two grids: the plan
// has the contents to write.
func (d *recoverDir) load() (err error) {
	if d.id, err = LoadIdentity(d.path); err != nil {
		return err
	}
	if d.plan, err = readPlan(d.path); err != nil {
		return err
	}
	if err := d.openDefinitions(); err != nil || d.plan != nil {
		return err
	}
	if !d.id.needsLog() {
		return refusal.Invalid("recover: %s: its member was in no grid, or did not complete forming one", d.path)
	}
	if err := belongsTo(d.stores, d.id); err != nil {
		return err
	}
	if err := boltfile.Guard(d.read); err != nil {
		return refusal.Invalid(
			"recover: cannot read %s or %s: %v; omit the directory, and give its member with --lost %s",
			filepath.Join(d.path, raftlog.File), filepath.Join(d.path, raftlog.SnapshotDir), err, d.id.Member)
	}
	return nil
}

// read reads the log to its end, committed or not: the lost majority may have committed the
// last entries.
func (d *recoverDir) read() error {
	r, err := d.stores.Replay(func(index uint64, cause error) error { return fmt.Errorf("entry %d: %w", index, cause) })
	if err != nil {
		return err
	}
	d.roster, d.servers, d.last = r.Roster, r.Servers, r.Last
	if r.Configuration != nil {
		d.servers = raft.DecodeConfiguration(r.Configuration).Servers
	}
	return nil
}

// checkDirs requires exactly the directories that the recovery started with.
func (p *recoverPlan) checkDirs(dirs []*recoverDir) error {
	var given []roster.MemberID
	for _, d := range dirs {
		if d.plan == nil && d.id.Grid != p.Old && d.id.Grid != p.Grid {
			return refusal.Invalid("recover: %s belongs to grid %s, but the recovery in progress to grid %s", d.path,
				d.id.Grid, p.Old)
		}
		given = append(given, d.id.Member)
	}
	slices.Sort(given)
	want := slices.Sorted(slices.Values(p.Members))
	if !slices.Equal(given, want) {
		return refusal.Invalid("recover: the recovery in progress uses the directories of members %v; give exactly these, "+
			"not %v",
			want, given)
	}
	return nil
}

// carryOut performs the plan; next, if not nil, may interrupt it before each step in one
// directory.
func (p *recoverPlan) carryOut(dirs []*recoverDir, next func() error) error {
	for _, step := range []func(*recoverDir) error{p.keep, p.replaceLog, p.adoptDefinitions, p.replaceIdentity, p.finish} {
		for _, d := range dirs {
			if d.plan == nil && d.id.Grid == p.Grid {
				continue // completed before
			}
			var err error
			if next != nil {
				err = next()
			}
			if err == nil {
				err = step(d)
			}
			if err != nil {
				return fmt.Errorf("grid: recover: %s: %w; run it again with the same directories", d.path, err)
			}
		}
	}
	return nil
}

func (p *recoverPlan) keep(d *recoverDir) error {
	data, err := durable.Seal(p)
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, recoverFile)
	if err := durable.Replace(path, data, nil); err != nil {
		return err
	}
	d.plan = p
	return nil
}

func (p *recoverPlan) replaceLog(d *recoverDir) error {
	var entries []*raft.Log
	for i, e := range p.Entries {
		entries = append(entries, &raft.Log{Index: uint64(i + 1), Term: 1, Type: e.Type, Data: e.Data,
			AppendedAt: p.At.Time()})
	}
	return d.stores.Disk.Replace(p.Logs[d.id.Member], 1, entries)
}

func (p *recoverPlan) replaceIdentity(d *recoverDir) error {
	d.id.Grid, d.id.Forming, d.id.Accepted, d.id.Log = p.Grid, false, Attempt{}, p.Logs[d.id.Member]
	return d.id.Save()
}

// finish removes the plan, after which members may start. Snapshots of the old log are
// no longer read; they only take space.
func (p *recoverPlan) finish(d *recoverDir) error {
	if err := errors.Join(os.Remove(filepath.Join(d.path, recoverFile)), durable.SyncDir(d.path)); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(d.path, raftlog.SnapshotDir, "*"))
	for _, path := range old {
		if filepath.Base(path) != d.id.Log {
			_ = os.RemoveAll(path)
		}
	}
	return err
}

// readPlan returns the plan of a recovery that was not completed, nil if there is none.
func readPlan(dir string) (*recoverPlan, error) {
	path := filepath.Join(dir, recoverFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, refusal.Invalid("DataDir: %v", err)
	}
	plan := &recoverPlan{}
	content, err := durable.Unseal(data)
	if err == nil {
		err = json.Unmarshal(content, plan)
	}
	if err != nil {
		return nil, refusal.Invalid("DataDir: %s is damaged: %v; discard the directory", path, err)
	}
	return plan, nil
}
