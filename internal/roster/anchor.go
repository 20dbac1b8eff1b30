package roster

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// An anchored grid stores a limit for its ceiling in a record outside the grid (package
// internal/leader/anchor). Each take of the record draws a new claim. The ceiling rises at most to
// the limit that the record has under the roster's claim (A2).

// Claim identifies one take of an anchored grid's record: 128 random bits as 32 lower-case hex
// digits, "" for no anchor.
type Claim string

const claimDigits = 32

// Check reports a malformed claim as an [ErrInvalid].
func (c Claim) Check() error {
	if spelling.IsHex(string(c), claimDigits) {
		return nil
	}
	return fmt.Errorf("%w: claim %.40q is not %d lower-case hex digits", ErrInvalid, string(c), claimDigits)
}

// Of returns the ID that messages use for a grid under this claim. Without a claim it is the grid's
// ID; each claim gives another ID. Two grids that were started from copies of the same data share a
// grid ID, but their versions cannot be compared (A9).
func (c Claim) Of(g GridID) GridID {
	bits, err := hex.DecodeString(string(c))
	if err != nil || len(bits) != len(g) {
		return g
	}
	for i, b := range bits {
		g[i] ^= b
	}
	return g
}

// Identity returns the ID that messages use for the grid. Replies, grants and holders' claims carry
// it.
func (r *Roster) Identity() GridID { return r.Claim.Of(r.Grid) }

// Refuses reports whether a member rejects messages with a roster under another claim. It does if
// it is registered under its own claim (A9). A new member has no state and catches up under the
// grid's current claim, and so does a member with a roster from before the first claim.
func (r *Roster) Refuses(self Incarnation, of Claim) bool {
	_, registered := r.Member(self)
	return registered && r.Claim != "" && of != r.Claim
}

// Reset starts a new claim; a leader that has taken the record proposes it (A5). Every partition is
// lost and has no owner, and its floor is above everything granted under any earlier claim. Named
// disks stay named.
type Reset struct {
	Claim Claim `json:"claim"`
	// Found is the limit in exactly the revision that the take replaced.
	Found clustertime.Tick `json:"found_ms"`
	// Leader is the member that took the record. The reset registers it (R8).
	Leader Member `json:"leader"`
}

func (r *Roster) reset(c Reset) (*Roster, error) {
	switch err := c.Claim.Check(); {
	case err != nil:
		return nil, refused("%v", err)
	case c.Claim == r.Claim:
		return nil, refused("the new claim equals the roster's; draw another")
	case c.Found < 0 || c.Found > clustertime.Latest:
		return nil, refused("the anchor's time, %d ms, is not from 1970 to 9999", c.Found)
	}
	registered := Change{Join: []Member{c.Leader}}
	out, err := r.leaving(registered)
	if err != nil {
		return nil, err
	}
	next := *r
	next.Version++
	next.Claim, next.Anchored = c.Claim, true
	next.Restarted = r.Restarted || slices.ContainsFunc(r.Partitions, func(p Partition) bool { return p.Term > 0 })
	next.Members = membersAfter(r.Members, registered.Join, out)
	if next.Unsettled, err = r.unsettledAfter(registered, next.Members); err != nil {
		return nil, err
	}
	floor := max(r.granted(), c.Found)
	next.Ceiling = max(r.Ceiling, floor)
	next.Stopped = 0
	next.Partitions = make([]Partition, len(r.Partitions))
	for id, p := range r.Partitions {
		next.Partitions[id] = Partition{Term: Term(next.Version), Floor: floor, LostTerm: Term(next.Version), Disk: p.Disk}
		next.Partitions[id].Memory = p.Memory
	}
	return &next, nil
}

// granted returns an upper bound on everything granted so far: the ceiling, or, right after an
// orderly stop, the actual end of grants (S1).
func (r *Roster) granted() clustertime.Tick {
	if r.Stopped > 0 {
		return r.Stopped
	}
	return r.Ceiling
}

// checkClaim refuses a command under another claim (A2, A9). After an orderly stop of an anchored
// grid it refuses everything except a reset: by then the record may declare that grants have ended
// (A8).
func (r *Roster) checkClaim(c Command) error {
	switch {
	case c.Claim != r.Claim:
		return refused("its claim is %.40q, the roster's is %q", string(c.Claim), string(r.Claim))
	case r.Anchored && r.Claim == "" && c.Reset == nil:
		return refused("the grid's anchor has not been taken yet")
	case r.Claim != "" && r.Stopped > 0 && c.Reset == nil:
		return refused("the grid has stopped; take its anchor again")
	}
	return nil
}

// checkLimit refuses a limit in a grid without an anchor. With an anchor it refuses grants of an
// earlier grid beyond the limit.
func (r *Roster) checkLimit(limit, granted clustertime.Tick) error {
	switch {
	case limit < 0 || limit > clustertime.Latest:
		return refused("limit %d is not between 0 and the year 9999", limit)
	case r.Claim == "" && limit > 0:
		return refused("limit %d is set, but the grid has no anchor", limit)
	case r.Claim != "" && granted > limit:
		return refused("an earlier grid's grants end at %d, after the anchor's limit, %d", granted, limit)
	}
	return nil
}

// raiseUnowned raises the floors of partitions without an owner. They need no loss, because nothing
// has been granted in them.
func (r *Roster) raiseUnowned(granted clustertime.Tick) {
	unowned := func(p Partition) bool { return p.Owner == "" && p.LostTerm > 0 && p.Floor < granted }
	if !slices.ContainsFunc(r.Partitions, unowned) {
		return
	}
	r.Partitions = slices.Clone(r.Partitions)
	for id, p := range r.Partitions {
		if unowned(p) {
			r.Partitions[id].Floor = granted
		}
	}
}
