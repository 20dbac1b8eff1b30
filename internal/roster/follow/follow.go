// Package follow decides which committed roster a member serves. A roster reaches a member in two
// ways: by the log of its Raft server, if it has one, and by commands and whole rosters that other
// members send after they were committed.
//
//	Raft log ---- Commit, Install ----> log image --+
//	                                                +-- the later one --> served roster
//	other members ---- Push, Adopt ---> learned ----+
//
// The package is pure: it does not wait, log or read a clock. DESIGN.md has its rules (F1 to F8);
// other codes in comments refer to proof/RULES.md.
package follow

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// Kept is the maximum number of recent commands that a member keeps for members that lack them.
	Kept = 64
	// FreshWithin is the age below which the leader's cluster time advances this member's. It exceeds the time between
	// two pushes to a member while nothing changes.
	FreshWithin = 5 * time.Second
)

// Errors that callers distinguish.
var (
	// ErrForeign means that a message belongs to another grid.
	ErrForeign = errors.New("follow: of another grid")
	// ErrGap means that commands before the received one are missing: pull them.
	ErrGap = errors.New("follow: commands are missing")
	// ErrBackward means that a later roster has a lower version or ceiling than the served one. No
	// committed roster has.
	ErrBackward = errors.New("follow: a later roster goes back")
)

// Position is the log index of the last entry that a roster contains. All members have the same
// roster at a position. Version and ceiling do not identify a roster, because a command may keep
// both.
type Position uint64

// Entry is a committed and applied command. No other command between After and At changed the
// roster, so it applies to the roster at any position from After to before At and produces the
// roster at At.
type Entry struct {
	After, At Position
	Command   roster.Command
}

// Image is a committed roster and its position.
type Image struct {
	At     Position
	Roster *roster.Roster
}

// Follower tracks the committed roster of one grid for one member. It is discarded with the process
// and with the grid (F6). It is not safe for concurrent use.
type Follower struct {
	grid   roster.GridID
	log    Image // changed only by the log's commands and by snapshots (F4)
	last   Position
	served Image
	recent []Entry // ends at the served roster; each entry starts at the end of the previous one
}

// New returns a follower without a roster.
func New(grid roster.GridID) *Follower {
	unformed := Image{Roster: &roster.Roster{}}
	return &Follower{grid: grid, log: unformed, served: unformed}
}

// Served returns the newest committed roster.
func (f *Follower) Served() Image { return f.served }

// Log returns the roster from the log alone.
func (f *Follower) Log() Image { return f.log }

// Commit applies the next command in the log, at a position, and reports whether the served roster
// has changed. A refused command changes nothing; the error comes from [roster.Roster.Apply].
func (f *Follower) Commit(at Position, c roster.Command) (news bool, err error) {
	next, err := f.log.Roster.Apply(c)
	if err != nil {
		f.log.At = max(f.log.At, at)
		return false, err
	}
	entry := Entry{After: f.last, At: at, Command: c}
	f.log, f.last = Image{At: at, Roster: next}, at
	if at <= f.served.At {
		return false, nil
	}
	f.serve(f.log, entry)
	return true, nil
}

// Install replaces the log's roster with a snapshot, and reports whether the served roster has
// changed.
func (f *Follower) Install(i Image) (news bool) {
	f.log, f.last = i, i.At
	if i.At < f.served.At {
		return false
	}
	f.served, f.recent = i, nil
	return true
}

// Push applies a committed command received from another member. An old command has no effect; news
// reports whether the served roster has changed.
func (f *Follower) Push(grid roster.GridID, e Entry) (news bool, err error) {
	switch {
	case grid != f.grid:
		return false, ErrForeign
	case e.At <= f.served.At:
		return false, nil
	case e.After > f.served.At || e.After >= e.At:
		return false, ErrGap
	}
	next, err := f.served.Roster.Apply(e.Command)
	if err != nil {
		return false, fmt.Errorf("%w: entry %d does not follow %d: %w", ErrGap, e.At, f.served.At, err)
	}
	learned := Image{At: e.At, Roster: next}
	if err := f.check(learned); err != nil {
		return false, err
	}
	f.serve(learned, e)
	return true, nil
}

// Adopt installs a whole committed roster received from another member. An older roster has no
// effect; news reports whether the served roster has changed.
func (f *Follower) Adopt(grid roster.GridID, i Image) (news bool, err error) {
	if grid != f.grid {
		return false, ErrForeign
	}
	if i.At <= f.served.At {
		return false, nil
	}
	if err := f.check(i); err != nil {
		return false, err
	}
	f.served, f.recent = i, nil
	return true, nil
}

// check rejects a roster that cannot be a later committed one of this grid (F2).
func (f *Follower) check(i Image) error {
	switch r := i.Roster; {
	case r.Formed() && r.Grid != f.grid:
		return ErrForeign
	case r.Version < f.served.Roster.Version || r.Ceiling < f.served.Roster.Ceiling:
		return fmt.Errorf("%w: from version %d, ceiling %d, to %d, %d", ErrBackward,
			f.served.Roster.Version, f.served.Roster.Ceiling, r.Version, r.Ceiling)
	}
	return nil
}

// serve replaces version, ceiling, owners, floors and terms together (F2).
func (f *Follower) serve(i Image, by Entry) {
	if n := len(f.recent); n > 0 && f.recent[n-1].At < by.After {
		f.recent = nil
	}
	f.served = i
	f.recent = append(f.recent, by)
	if len(f.recent) > Kept {
		f.recent = append([]Entry(nil), f.recent[len(f.recent)-Kept:]...)
	}
}

// Since returns the commands from a roster at a position to the served one, and false if some are
// missing: then only the whole roster helps. The result must not be modified.
func (f *Follower) Since(at Position) ([]Entry, bool) {
	if at >= f.served.At {
		return nil, true
	}
	for i, e := range f.recent {
		if at < e.At {
			return f.recent[i:len(f.recent):len(f.recent)], e.After <= at
		}
	}
	return nil, false
}

// Fresh reports whether the leader's cluster time in a message counts (F5). age is an upper bound on the
// message's age, negative if unknown.
func Fresh(age time.Duration) bool { return age >= 0 && age < FreshWithin }
