// Package follow decides which committed roster a member serves. A roster reaches a member
// in two ways: by the log of its Raft server, if it has one, and by commands and whole
// rosters that other members send it after they were committed.
//
//	Raft log ---- Commit, Install ----> log image --+
//	                                                +-- the later one --> served roster
//	other members ---- Push, Adopt ---> learned ----+
//
// The package is pure: it does not wait, log or read a clock. Its rules are in DESIGN.md;
// the letters in comments are those of proof/RULES.md and of that file.
package follow

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// Kept is how many commands a member keeps for others that lack them.
	Kept = 64
	// FreshWithin is how old a pushed raise may be whose time counts.
	FreshWithin = 2 * time.Second
)

// Errors that callers tell apart.
var (
	// ErrForeign means that a message is of another grid.
	ErrForeign = errors.New("follow: of another grid")
	// ErrGap means that commands are missing before the one that was sent: pull them.
	ErrGap = errors.New("follow: commands are missing")
	// ErrBackward means that a later roster has a lower version or ceiling than the served
	// one, which no committed roster has.
	ErrBackward = errors.New("follow: a later roster goes back")
)

// Position counts the entries of a grid's roster log: it is the index in the log of the last
// entry that a roster contains. The same position is the same roster at every member, which
// version and ceiling are not: a command may keep both.
type Position uint64

// Entry is a command that was committed and applied. Between After and At no other command
// changed the roster, so it takes any roster from After to before At to the one at At.
type Entry struct {
	After, At Position
	Command   roster.Command
}

// Image is a committed roster and its position.
type Image struct {
	At     Position
	Roster *roster.Roster
}

// Follower is one member's knowledge of the roster of one grid. It is forgotten with the
// process and with the grid (F6). It is not safe for concurrent use.
type Follower struct {
	grid   roster.GridID
	log    Image // input of the next command of the log, and of snapshots (F4)
	last   Position
	served Image
	recent []Entry // ends at the served roster; each begins where the one before it ends
}

// New returns a follower of a grid that knows no roster of it yet.
func New(grid roster.GridID) *Follower {
	unformed := Image{Roster: &roster.Roster{}}
	return &Follower{grid: grid, log: unformed, served: unformed}
}

// Served returns the newest committed roster that the member knows.
func (f *Follower) Served() Image { return f.served }

// Log returns the roster of the log alone.
func (f *Follower) Log() Image { return f.log }

// Commit applies the next command of the log, which is at a position, and reports whether
// the served roster is another now. A command that the roster refuses changes nothing; the
// error is that of [roster.Roster.Apply].
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

// Install replaces the roster of the log by a snapshot, and reports whether the served
// roster is another now.
func (f *Follower) Install(i Image) (news bool) {
	f.log, f.last = i, i.At
	if i.At < f.served.At {
		return false
	}
	f.served, f.recent = i, nil
	return true
}

// Push takes a committed command that another member sent. One that is known already
// changes nothing; news reports whether the served roster is another now.
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

// Adopt takes a whole committed roster that another member sent. One that is not later
// changes nothing; news reports whether the served roster is another now.
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

// check refuses what cannot be a later committed roster of this grid (F2).
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

// serve takes one step: version, ceiling, owners, floors and terms all together (F2).
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

// Since returns the commands that take a roster at a position to the served one, and false
// if they are not known: then only the whole roster helps. The result is not written to.
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

// Fresh reports whether the time of a raise that was sent counts (F5). age is at most how
// old it is, negative if that is not known.
func Fresh(age time.Duration) bool { return age >= 0 && age < FreshWithin }
