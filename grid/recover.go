package grid

import (
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// RecoverConfig selects the data directories for a recovery.
type RecoverConfig struct {
	// DataDirs are the data directories of the remaining members, which form the grid.
	DataDirs []string
	// Lost has the IDs of members and states that they are gone for good, with their data.
	Lost []string
	// Floor is a time above which no ID was issued; zero states nothing.
	Floor time.Time
	// Clock is the wall clock; nil = the real one.
	Clock Clock
	// Logger receives the audit line of the recovery; nil = none.
	Logger *slog.Logger
	// Before, if not nil, receives the planned actions before anything is written.
	Before func(Recovery)
}

// Recovery describes the actions of [Recover]. Grids and members are named by ID.
type Recovery struct {
	Old, Grid string    // "" if unknown
	Members   []string  // that form the new grid, in the order of their directories
	Lost      []string  // voters and disks of the old grid that are given up
	First     time.Time // where grants of the new grid begin
	// Forgotten is in how many partitions the definitions of sequencers are lost, because
	// no directory given has them.
	Forgotten int
	// Outdated is the number of partitions that may lose their latest definitions, because no given
	// directory was known to have all of them.
	Outdated int
	// Repeated means that this completes an interrupted recovery.
	Repeated bool
}

// Recover makes a new durable grid from some members' data directories, after the permanent loss of
// the old grid's voter majority. No member may run on one of the directories. Grants of the new
// grid begin above everything that the lost members can have granted: a window, 5 s and 10 minutes
// above the latest known ceiling and clock, and the new grid rejects members of the old one. Every
// voter and every member with a disk whose directory is not given has to be named in Lost; if they
// run after all, they continue as the old grid, and both issue the same IDs.
//
// No member starts on the directories of an interrupted recovery; the same call completes it.
//
// Errors: sequencer.ErrInvalidConfig for a setting or a directory, [ErrNotNeeded] while the
// directories given are a majority, and [ErrNotConfirmed] while a missing member is not named in
// Lost. The message names the directory or the member, and the remedy.
func Recover(cfg RecoverConfig) (Recovery, error) { return cfg.carryOut(nil) }

// carryOut recovers the grid; next, if not nil, may cut that off before each step.
func (c RecoverConfig) carryOut(next func() error) (Recovery, error) {
	plan := formation.RecoveryConfig{DataDirs: c.DataDirs, Lost: ids[roster.MemberID](c.Lost), Floor: c.Floor,
		Clock: c.Clock}
	if c.Clock == nil {
		plan.Clock = realClock{}
	}
	if c.Before != nil {
		plan.Before = func(p formation.RecoveryPlan) { c.Before(recoveryOf(p)) }
	}
	done, err := formation.Recover(plan, next)
	if c.Logger != nil {
		begun := time.Now()
		lines := audit.New(c.Logger, func() time.Duration { return time.Since(begun) })
		more := []slog.Attr{slog.Any("directories", c.DataDirs), slog.Any("lost", c.Lost)}
		name := "unknown grid"
		if !done.Old.IsZero() {
			name = done.Old.String()
		}
		if !done.Grid.IsZero() { // zero if the recovery was refused
			more = append(more, slog.String("grid", done.Grid.String()))
		}
		lines.Write(audit.Entry{Action: audit.Recover, Name: name, Who: processOwner(), Err: err}, more...)
	}
	return recoveryOf(done), err
}

// processOwner returns the operating system's user that this process runs as.
func processOwner() string {
	if u, err := user.Current(); err == nil {
		return "user " + u.Username
	}
	return fmt.Sprintf("user %d", os.Getuid())
}
