package anchor

import (
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Errors of swaps that are not made.
var (
	// ErrDeleted says that the record of a claim is gone. Nothing says any longer how far
	// others may have granted, so a person has to decide (A4).
	ErrDeleted = errors.New("anchor: the record was deleted")
	// ErrNotAllowed says that a rule forbids the swap at the moment.
	ErrNotAllowed = errors.New("anchor: not allowed")
)

// Authority holds the limits of one leader under the record, by its reads of it. The
// zero value may do nothing but take. It is a value without references, so that a copy of
// one is another.
type Authority struct {
	Self roster.Incarnation // the leader
	// Claim and Ceiling are the highest limit that it has seen, and under which claim:
	// in a read, or in a swap of its own that is known to have happened (A1).
	Claim   roster.Claim
	Ceiling clustertime.Tick
	Taken   Taken
}

// Taken is a take from when it is sent until its reset, the zero value for none.
type Taken struct {
	Claim   roster.Claim
	Version roster.Version   // of the roster then
	Found   clustertime.Tick // the ceiling in the revision that it replaces
	Ceiling clustertime.Tick // the one that it writes
	Known   bool             // to have happened
}

// Registered reports whether the leader's own incarnation is a member of an anchored
// roster. A leader that is not has to take the record and reset the roster before it
// proposes anything else: it is another life of the grid, perhaps beside the one whose
// data it has (A3).
func (a *Authority) Registered(r *roster.Roster) bool {
	_, member := r.Member(a.Self)
	return member && r.Claim != ""
}

// Saw notes a record that was read, by the roster of now.
func (a *Authority) Saw(r *roster.Roster, seen Record) {
	if seen.Claim == a.Taken.Claim && seen.Claim != "" {
		a.Taken.Known = true
	}
	if seen.Claim == r.Claim && seen.Claim != "" {
		a.allow(r.Claim, seen.Ceiling)
	}
}

// allow notes that a ceiling has stood under a claim. Once is enough, however old.
func (a *Authority) allow(claim roster.Claim, ceiling clustertime.Tick) {
	if a.Claim != claim {
		a.Claim, a.Ceiling = claim, 0
	}
	a.Ceiling = max(a.Ceiling, ceiling)
}

// Landed notes that a swap is known to have happened, by the roster of now.
func (a *Authority) Landed(r *roster.Roster, s Swap) { a.Saw(r, s.Record) }

// Limit returns how far the ceiling of a roster may rise, 0 for no further: nothing that
// stood under another claim counts, nor a swap that was sent and is not known to have happened
// (A1), and a leader that is not a member may raise nothing (A2).
func (a *Authority) Limit(r *roster.Roster) clustertime.Tick {
	var limit clustertime.Tick
	switch {
	case !a.Registered(r):
	case a.Claim == r.Claim:
		limit = a.Ceiling
	case a.Taken.Known && a.Taken.Claim == r.Claim: // and nothing was seen since the reset
		limit = a.Taken.Ceiling
	}
	return limit
}

// Take returns the swap that takes the record that was seen (A4). The limit that it
// finds is that of the very revision that it replaces, and a claim that was drawn is used
// once. Errors: ErrDeleted.
func (a *Authority) Take(r *roster.Roster, seen Seen, d Draw) (Swap, error) {
	if seen.Absent() && r.Claim != "" {
		return Swap{}, fmt.Errorf("%w: the grid's claim %s is in no record", ErrDeleted, r.Claim)
	}
	a.Taken = Taken{Claim: d.Claim, Version: r.Version, Found: seen.Record.Ceiling, Ceiling: max(seen.Record.Ceiling, r.Ceiling)}
	return a.swap(Take, r, seen, d.Claim, a.Taken.Ceiling, d.Nonce), nil
}

// Recreate is Take where the record was deleted: a person states that no other grid has
// granted beyond the roster's ceiling.
func (a *Authority) Recreate(r *roster.Roster, d Draw) Swap {
	a.Taken = Taken{Claim: d.Claim, Version: r.Version, Found: r.Ceiling, Ceiling: r.Ceiling}
	return a.swap(Take, r, Seen{}, d.Claim, a.Taken.Ceiling, d.Nonce)
}

// Extend returns the swap that raises the limit (A6): by a member, from a record of the
// roster's claim, upward only. Errors: ErrNotAllowed.
func (a *Authority) Extend(r *roster.Roster, seen Seen, ceiling clustertime.Tick, d Draw) (Swap, error) {
	switch {
	case !a.Registered(r):
		return Swap{}, fmt.Errorf("%w: this leader is not a member of the roster", ErrNotAllowed)
	case seen.Record.Claim != r.Claim:
		return Swap{}, fmt.Errorf("%w: the record is of claim %s and the roster of %s", ErrNotAllowed, seen.Record.Claim, r.Claim)
	case ceiling <= seen.Record.Ceiling:
		return Swap{}, fmt.Errorf("%w: %d is not above %d", ErrNotAllowed, ceiling, seen.Record.Ceiling)
	}
	return a.swap(Extend, r, seen, r.Claim, ceiling, d.Nonce), nil
}

// Lower returns the swap that records where grants ended, after the last member has
// stopped in order and not before: from then on the roster is not raised (A8). Errors:
// ErrNotAllowed.
func (a *Authority) Lower(r *roster.Roster, seen Seen, to clustertime.Tick, d Draw) (Swap, error) {
	switch {
	case r.Stopped == 0 || to < r.Stopped:
		return Swap{}, fmt.Errorf("%w: the roster says that grants end at %d", ErrNotAllowed, r.Stopped)
	case seen.Record.Claim != r.Claim || r.Claim == "":
		return Swap{}, fmt.Errorf("%w: the record is of claim %s and the roster of %s", ErrNotAllowed, seen.Record.Claim, r.Claim)
	case to >= seen.Record.Ceiling:
		return Swap{}, fmt.Errorf("%w: %d is not below %d", ErrNotAllowed, to, seen.Record.Ceiling)
	}
	return a.swap(Lower, r, seen, r.Claim, to, d.Nonce), nil
}

func (a *Authority) swap(k Kind, r *roster.Roster, seen Seen, claim roster.Claim, ceiling clustertime.Tick, nonce string) Swap {
	return Swap{Kind: k, Revision: seen.Revision, Record: Record{Claim: claim, Ceiling: ceiling, Grid: r.Grid, Holder: a.Self, Nonce: nonce}}
}

// Reset returns the command that begins the claim of a take, once that is known to have
// happened, at exactly the version at which it was sent (A5).
func (a *Authority) Reset(r *roster.Roster, leader roster.Member) (roster.Command, bool) {
	t := a.Taken
	if !t.Known || t.Version != r.Version {
		return roster.Command{}, false
	}
	reset := roster.Reset{Claim: t.Claim, Found: t.Found, Leader: leader}
	return roster.Command{From: r.Version, Claim: r.Claim, Reset: &reset}, true
}
