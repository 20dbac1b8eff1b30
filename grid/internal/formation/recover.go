package formation

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/recovery"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// RecoveryConfig selects the data directories to recover a grid from, as in package grid.
type RecoveryConfig struct {
	DataDirs []string
	Lost     []roster.MemberID // members that are gone for good, with their data
	Floor    time.Time         // zero: none
	Clock    Clock
	Before   func(RecoveryPlan) // nil, or called before anything is written
}

// RecoveryPlan describes the actions of a recovery.
type RecoveryPlan struct {
	Old, Grid roster.GridID
	Members   []roster.MemberID // that form the new grid, in the order of their directories
	Lost      []roster.MemberID // voters and disks of the old grid that are given up
	First     time.Time         // where grants of the new grid begin
	Forgotten int               // partitions without definitions in any directory
	Outdated  int               // partitions without their latest definitions
	Repeated  bool              // a recovery is completed that was begun before
}

// Recover makes a new grid of data directories. next, if not nil, may cut it off before
// each step in one directory.
func Recover(cfg RecoveryConfig, next func() error) (RecoveryPlan, error) {
	if len(cfg.DataDirs) == 0 {
		return RecoveryPlan{}, refusal.Invalid("recover: no data directory is given")
	}
	if !cfg.Floor.IsZero() && (clustertime.TickOf(cfg.Floor) < 0 || clustertime.TickOf(cfg.Floor) > LatestFloor) {
		return RecoveryPlan{}, refusal.Invalid("recover: floor %s is not a time from 1970 to 2099",
			cfg.Floor.Format(time.RFC3339))
	}
	if err := clustertime.CheckClock(clustertime.TickOf(cfg.Clock.Now())); err != nil {
		return RecoveryPlan{}, fmt.Errorf("grid: recover: %w", err)
	}
	var dirs []*recoverDir
	defer func() {
		for _, d := range dirs {
			d.close()
		}
	}()
	for _, path := range cfg.DataDirs {
		d, err := openForRecovery(path)
		if err != nil {
			return RecoveryPlan{Old: gridOf(dirs)}, err
		}
		dirs = append(dirs, d)
	}
	plan, repeated, err := planOf(dirs, cfg)
	if err != nil {
		return RecoveryPlan{Old: gridOf(dirs)}, err
	}
	res := RecoveryPlan{Old: plan.Old, Grid: plan.Grid, Lost: plan.Lost, First: plan.First.Time(), Repeated: repeated,
		Forgotten: plan.Forgotten, Outdated: plan.Outdated}
	for _, d := range dirs {
		res.Members = append(res.Members, d.id.Member)
	}
	if cfg.Before != nil {
		cfg.Before(res)
	}
	return res, plan.carryOut(dirs, next)
}

func gridOf(dirs []*recoverDir) (id roster.GridID) {
	for i, d := range dirs {
		if i > 0 && d.id.Grid != id {
			return roster.GridID{}
		}
		id = d.id.Grid
	}
	return id
}

func planOf(dirs []*recoverDir, cfg RecoveryConfig) (plan *recoverPlan, repeated bool, err error) {
	for _, d := range dirs {
		switch {
		case d.plan == nil:
		case plan == nil:
			plan = d.plan
		case plan.Grid != d.plan.Grid:
			return nil, false, refusal.Invalid("recover: %s and another directory belong to different incomplete recoveries",
				d.path)
		}
	}
	if plan != nil {
		return plan, true, plan.checkDirs(dirs)
	}
	plan, err = newPlan(dirs, cfg)
	return plan, false, err
}

// newPlan decides from the directories' contents.
func newPlan(dirs []*recoverDir, cfg RecoveryConfig) (*recoverPlan, error) {
	seen := map[roster.MemberID]string{}
	partitions := 0
	for _, d := range dirs {
		if other := seen[d.id.Member]; other != "" {
			return nil, refusal.Invalid("recover: %s and %s belong to the same member, %s; give one directory", other, d.path,
				d.id.Member)
		}
		seen[d.id.Member] = d.path
		if d.id.Grid != dirs[0].id.Grid {
			return nil, refusal.Invalid("recover: %s belongs to grid %s, but %s to grid %s", d.path, d.id.Grid, dirs[0].path,
				dirs[0].id.Grid)
		}
		partitions = max(partitions, len(d.roster.Partitions))
	}
	var contents []recovery.Directory
	for _, d := range dirs {
		c, err := d.contents(partitions)
		if err != nil {
			return nil, err
		}
		contents = append(contents, c)
	}
	newest := dirs[recovery.Newest(contents)]
	if !newest.roster.Formed() {
		return nil, refusal.Invalid(
			"recover: no directory holds the roster of grid %s; start with empty directories and a floor", newest.id.Grid)
	}
	lost, err := missing(newest, seen, cfg.Lost)
	if err != nil {
		return nil, err
	}
	in := recovery.Disks{
		Directories: contents, Old: newest.id.Grid, Grid: NewGridID(), Lost: lost, Floor: floorOf(cfg.Floor),
		Now:         clustertime.TickOf(cfg.Clock.Now()),
		Incarnation: NewIncarnation,
	}
	decided, err := recovery.FromDisks(in)
	if err != nil {
		return nil, fmt.Errorf("grid: recover: %w", err)
	}
	plan := &recoverPlan{Old: in.Old, Grid: in.Grid, Lost: lost, First: decided.First, At: in.Now,
		Logs: map[roster.MemberID]string{}}
	for _, d := range dirs {
		plan.Members = append(plan.Members, d.id.Member)
		plan.Logs[d.id.Member] = raftlog.NewID()
	}
	record := decided.Roster.Recovered
	plan.Forgotten, plan.Outdated = len(record.Forgotten), len(record.Outdated)
	return plan, plan.write(decided)
}

// missing returns the voters and the members with a disk that lack a directory, all of which must be
// stated as lost.
func missing(newest *recoverDir, given map[roster.MemberID]string,
	stated []roster.MemberID) ([]roster.MemberID, error) {
	why := map[roster.MemberID]string{}
	stored := map[roster.MemberID]int{}
	for _, p := range newest.roster.Partitions {
		for _, disk := range p.Disk {
			stored[disk]++
		}
	}
	for disk, partitions := range stored {
		why[disk] = "whose disk has definitions for " + spelling.Count(partitions, "partition")
	}
	for _, member := range newest.roster.Members {
		if member.Durable {
			why[member.Incarnation.Member()] = "with a disk, at " + member.API
		}
	}
	for _, s := range newest.servers {
		if s.Suffrage != raft.Voter {
			continue
		}
		id := roster.Incarnation(s.ID).Member()
		if given[id] != "" && leader.ServerID(s.ID).IsDurable() {
			continue
		}
		_, addr, _ := transport.CutRaftAddress(s.Address)
		why[id] = "a voter, at " + addr
	}
	alive, voters := recovery.Directory{Servers: raftlog.ServersOf(newest.servers)}.Votes(func(id roster.MemberID) bool {
		return given[id] != ""
	})
	if 2*alive > voters {
		return nil, failure.Errorf(wire.ErrNotNeeded,
			"grid: recovery refused: the given directories hold %d of %d voters, which is a majority; start their members",
			alive, voters)
	}
	var lost []roster.MemberID
	var unstated []string
	for id, what := range why {
		if given[id] != "" {
			continue
		}
		lost = append(lost, id)
		if !slices.Contains(stated, id) {
			unstated = append(unstated, fmt.Sprintf("--lost %s (%s)", id, what))
		}
	}
	for _, id := range stated {
		if !slices.Contains(lost, id) {
			return nil, refusal.Invalid("recover: --lost %.40q is not a voter or a disk in grid %s with a missing directory",
				string(id), newest.id.Grid)
		}
	}
	slices.Sort(lost)
	slices.Sort(unstated)
	if len(unstated) > 0 {
		return nil, failure.Errorf(wire.ErrNotConfirmed,
			"grid: nothing was done: no directory was given for some members of grid %s. If they are lost permanently, and do "+
				"not run, confirm with: %s; "+
				"otherwise start them, or give their directories, too", newest.id.Grid, strings.Join(unstated, " "))
	}
	return lost, nil
}

// write makes the log that every member of the new grid begins with: its servers and its first
// commands.
func (p *recoverPlan) write(decided recovery.Decision) error {
	var servers raft.Configuration
	for i, s := range decided.Servers {
		id := raft.ServerID(s.ID)
		server := raft.Server{ID: id, Address: transport.RaftAddress(id, decided.Members[i].Raft)}
		if !s.Voter {
			server.Suffrage = raft.Nonvoter
		}
		servers.Servers = append(servers.Servers, server)
	}
	p.Entries = []recoverEntry{{raft.LogConfiguration, raft.EncodeConfiguration(servers)}}
	for _, c := range decided.Commands {
		data, err := wire.EncodeCommand(c)
		if err != nil {
			return fmt.Errorf("grid: recover: %w", err)
		}
		p.Entries = append(p.Entries, recoverEntry{raft.LogCommand, data})
	}
	return nil
}

// checkNotRecovering refuses a directory in which a recovery was begun and not
// completed.
func checkNotRecovering(dir string) error {
	plan, err := readPlan(dir)
	if err != nil || plan == nil {
		return err
	}
	return refusal.Invalid("DataDir: the recovery of %s is incomplete: run `snowgrid recover` again with the "+
		"directories of members %v", filepath.Clean(dir), plan.Members)
}
