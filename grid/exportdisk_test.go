package grid

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Names for the tests of failing disks.

// DiskAdvice ends every message about a failed disk.
const DiskAdvice = raftlog.DiskAdvice

// Disk returns the member's log.
func (m *Member) Disk() *raftlog.Log { return m.stores.Disk }

// SlowDisk has every later write of the member take so much longer.
func (m *Member) SlowDisk(by time.Duration) {
	m.stores.Disk.SlowWrites(by)
	m.definitions.SlowWrites(by)
}

// Raft returns the member's Raft node.
func (m *Member) Raft() *raft.Raft { return m.raft.Node().Raft }

// Propose has the grid agree on a command, if this member leads.
func (m *Member) Propose(c roster.Command) error { return m.raft.Propose(c) }

// Changed returns a channel that is closed when something changes that the
// member knows of the grid.
func (m *Member) Changed() <-chan struct{} { return m.state.Changed() }

// Leavers are the members that have told this one that they leave.
func (m *Member) Leavers() (out []roster.Incarnation) {
	if l := m.leadership.current.Load(); l != nil {
		l.do(func(machine *leader.Leader, _ leader.View) { out = machine.Leavers() })
	}
	return out
}

// NoteAttempt leaves a data directory as a bootstrap member does that dies right after it has
// noted its grid.
func NoteAttempt(dir string) error {
	id, err := formation.LoadIdentity(dir)
	if err != nil {
		return err
	}
	id.Grid, id.Forming = formation.NewGridID(), true
	id.Accepted = formation.Attempt{BootstrapMember: id.Member, Grid: id.Grid}
	return id.Save()
}

// NoteBootstrap leaves a data directory as a bootstrap member does that dies before the
// roster's first entry.
func NoteBootstrap(dir string) error {
	if err := NoteAttempt(dir); err != nil {
		return err
	}
	id, err := formation.LoadIdentity(dir)
	if err != nil {
		return err
	}
	s, err := raftlog.OpenStores(dir, io.Discard)
	if err != nil {
		return err
	}
	_, trans := raft.NewInmemTransport("a")
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(id.Member)
	first := raft.Configuration{Servers: []raft.Server{{ID: conf.LocalID, Address: trans.LocalAddr()}}}
	return errors.Join(raft.BootstrapCluster(conf, s.Logs, s.Stable, s.Snaps, trans, first), s.Close())
}

// Fatality returns why the member can never serve, nil if it may.
func (m *Member) Fatality() error { return m.state.Failure() }

// InGrid reports whether the member belongs to a grid.
func (m *Member) InGrid() bool { return !m.formation.Grid().IsZero() }

// CloseDefinitions has every later write of definitions fail.
func (m *Member) CloseDefinitions() error { return m.definitions.Close() }

// CutRecovery is Recover, cut off after some steps.
func CutRecovery(cfg RecoverConfig, steps int) (Recovery, error) {
	return cfg.carryOut(func() error {
		if steps--; steps < 0 {
			return errors.New("cut off")
		}
		return nil
	})
}

// LeaveGrid has a member leave its grid while something runs on its behalf.
func (m *Member) LeaveGrid(work func(ctx context.Context)) error {
	return m.formation.LeaveGrid(work)
}

// SnapshotOf writes a snapshot to a data directory as Raft does, and removes it again
// if lose is set.
func SnapshotOf(dir string, index uint64, lose bool) error {
	s, err := raftlog.OpenStores(dir, io.Discard)
	if err != nil {
		return err
	}
	_, trans := raft.NewInmemTransport("a")
	sink, err := s.Snaps.Create(1, index, 1, raft.Configuration{}, 1, trans)
	if err != nil {
		return err
	}
	err = sink.Close()
	if lose {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, raftlog.SnapshotDir)))
	}
	return errors.Join(err, s.Close())
}

// OpenDataDir opens a data directory as a start does, and closes it.
func OpenDataDir(dir string) error {
	s, defs, _, err := formation.OpenDataDir(dir, io.Discard)
	if err != nil {
		return err
	}
	return errors.Join(defs.Close(), s.Close())
}
