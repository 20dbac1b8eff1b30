package anchor

import (
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Errors for swaps that are not made.
var (
	// ErrDeleted means that the record with the roster's claim is gone. No limit on other grids'
	// grants is left, so an operator has to decide (A4).
	ErrDeleted = errors.New("anchor: the record was deleted")
	// ErrNotAllowed means that a rule currently forbids the swap.
	ErrNotAllowed = errors.New("anchor: not allowed")
)

// Authority tracks one leader's limits under the record, from its reads. The zero value may only
// take. It is a value without references, so a copy is independent.
type Authority struct {
	Self roster.Incarnation // the leader
	// Claim and Ceiling are the highest limit observed and its claim: in a read, or in an own swap
	// that is confirmed (A1).
	Claim   roster.Claim
	Ceiling clustertime.Tick
	Taken   Taken
}

// Taken describes a take, from sending it until the reset. The zero value means none.
type Taken struct {
	Claim   roster.Claim
	Version roster.Version   // the roster's version when it was sent
	Found   clustertime.Tick // the ceiling in the replaced revision
	Ceiling clustertime.Tick // the ceiling that it writes
	Known   bool             // the take is confirmed
}

// Registered reports whether the leader's own incarnation is a member in a roster with a claim.
// Otherwise the leader has to take the record and reset the roster before it proposes anything
// else: it belongs to another generation of the grid, which may run next to the one it was copied
// from (A3).
func (a *Authority) Registered(r *roster.Roster) bool {
	_, member := r.Member(a.Self)
	return member && r.Claim != ""
}

// Saw records the result of a read, with the current roster.
func (a *Authority) Saw(r *roster.Roster, seen Record) {
	if seen.Claim == a.Taken.Claim && seen.Claim != "" {
		a.Taken.Known = true
	}
	if seen.Claim == r.Claim && seen.Claim != "" {
		a.allow(r.Claim, seen.Ceiling)
	}
}

// allow records a ceiling observed under a claim. One observation is enough, however old.
func (a *Authority) allow(claim roster.Claim, ceiling clustertime.Tick) {
	if a.Claim != claim {
		a.Claim, a.Ceiling = claim, 0
	}
	a.Ceiling = max(a.Ceiling, ceiling)
}

// Landed records that a swap is confirmed, with the current roster.
func (a *Authority) Landed(r *roster.Roster, s Swap) { a.Saw(r, s.Record) }

// Limit returns the limit for the roster's ceiling, 0 for no raise. Ceilings under another claim do
// not count, nor does a swap that was sent but not confirmed (A1). A leader that is not a member
// may not raise (A2).
func (a *Authority) Limit(r *roster.Roster) clustertime.Tick {
	var limit clustertime.Tick
	switch {
	case !a.Registered(r):
	case a.Claim == r.Claim:
		limit = a.Ceiling
	case a.Taken.Known && a.Taken.Claim == r.Claim: // without an observation since the reset
		limit = a.Taken.Ceiling
	}
	return limit
}

// Take returns the swap that takes the observed record (A4). Found is the ceiling in exactly the
// revision that the swap replaces. Each drawn claim is used once. It returns ErrDeleted if the
// record is gone.
func (a *Authority) Take(r *roster.Roster, seen Seen, d Draw) (Swap, error) {
	if seen.Absent() && r.Claim != "" {
		return Swap{}, fmt.Errorf("%w: the grid's claim %s is in no record", ErrDeleted, r.Claim)
	}
	a.Taken = Taken{Claim: d.Claim, Version: r.Version, Found: seen.Record.Ceiling,
		Ceiling: max(seen.Record.Ceiling, r.Ceiling)}
	return a.swap(Take, r, seen, d.Claim, a.Taken.Ceiling, d.Nonce), nil
}

// Recreate is Take after the record was deleted: an operator states that no other grid has granted
// beyond the roster's ceiling.
func (a *Authority) Recreate(r *roster.Roster, d Draw) Swap {
	a.Taken = Taken{Claim: d.Claim, Version: r.Version, Found: r.Ceiling, Ceiling: r.Ceiling}
	return a.swap(Take, r, Seen{}, d.Claim, a.Taken.Ceiling, d.Nonce)
}

// Extend returns the swap that raises the limit (A6). The leader must be a member, the record must
// have the roster's claim, and the ceiling must be higher; otherwise it returns ErrNotAllowed.
func (a *Authority) Extend(r *roster.Roster, seen Seen, ceiling clustertime.Tick, d Draw) (Swap, error) {
	switch {
	case !a.Registered(r):
		return Swap{}, fmt.Errorf("%w: this leader is not a member of the roster", ErrNotAllowed)
	case seen.Record.Claim != r.Claim:
		return Swap{}, fmt.Errorf("%w: the record is of claim %s and the roster of %s", ErrNotAllowed, seen.Record.Claim,
			r.Claim)
	case ceiling <= seen.Record.Ceiling:
		return Swap{}, fmt.Errorf("%w: %d is not above %d", ErrNotAllowed, ceiling, seen.Record.Ceiling)
	}
	return a.swap(Extend, r, seen, r.Claim, ceiling, d.Nonce), nil
}

// Lower returns the swap that records the end of grants, only after the last member has stopped in
// an orderly way. From then on the roster is not raised (A8). It returns ErrNotAllowed otherwise.
func (a *Authority) Lower(r *roster.Roster, seen Seen, to clustertime.Tick, d Draw) (Swap, error) {
	switch {
	case r.Stopped == 0 || to < r.Stopped:
		return Swap{}, fmt.Errorf("%w: the roster says that grants end at %d", ErrNotAllowed, r.Stopped)
	case seen.Record.Claim != r.Claim || r.Claim == "":
		return Swap{}, fmt.Errorf("%w: the record is of claim %s and the roster of %s", ErrNotAllowed, seen.Record.Claim,
			r.Claim)
	case to >= seen.Record.Ceiling:
		return Swap{}, fmt.Errorf("%w: %d is not below %d", ErrNotAllowed, to, seen.Record.Ceiling)
	}
	return a.swap(Lower, r, seen, r.Claim, to, d.Nonce), nil
}

func (a *Authority) swap(k Kind, r *roster.Roster, seen Seen, claim roster.Claim, ceiling clustertime.Tick,
	nonce string) Swap {
	return Swap{Kind: k, Revision: seen.Revision,
		Record: Record{Claim: claim, Ceiling: ceiling, Grid: r.Grid, Holder: a.Self, Nonce: nonce}}
}

// Reset returns the command that starts a take's claim, once the take is confirmed. It applies at
// exactly the version at which the take was sent (A5).
func (a *Authority) Reset(r *roster.Roster, leader roster.Member) (roster.Command, bool) {
	t := a.Taken
	if !t.Known || t.Version != r.Version {
		return roster.Command{}, false
	}
	reset := roster.Reset{Claim: t.Claim, Found: t.Found, Leader: leader}
	return roster.Command{From: r.Version, Claim: r.Claim, Reset: &reset}, true
}
