package roster

import (
	"cmp"
	"fmt"
	"slices"
)

// maxDropped is the maximum number of dropped sets that a grid records.
const maxDropped = 4096

// DroppedSet records the next number of a dropped set. A new set with the same name continues
// there, so that no number is given twice (N2). Sets with equal hashes share one record, which only
// skips numbers.
type DroppedSet struct {
	Set     uint64 `json:"set"` // hash of its names
	Next    uint64 `json:"next"`
	Removed uint64 `json:"removed,omitempty"`
}

// newSet returns a new set: it continues where a dropped one with its name ended.
func (r *Roster) newSet(cluster, name string) Set {
	s := Set{Cluster: cluster, Name: name, Next: 1}
	if at, found := searchDropped(r.Dropped, hashOf(cluster, name)); found {
		s.Next, s.Removed = r.Dropped[at].Next, r.Dropped[at].Removed
	}
	return s
}

// NextNumber returns the number that a set gives next, which may not exist yet.
func (r *Roster) NextNumber(cluster, name string) uint64 {
	if s, found := r.Set(cluster, name); found {
		return s.Next
	}
	return r.newSet(cluster, name).Next
}

// dropSet removes a set without numbers. Dropping a dropped set again has no effect.
func (r *Roster) dropSet(cluster, name string) (*Roster, error) {
	at, found := searchSet(r.Sets, cluster, name)
	_, dropped := searchDropped(r.Dropped, hashOf(cluster, name))
	switch {
	case !found && dropped:
		return r, nil
	case !found:
		return nil, fmt.Errorf("%w: set %s/%s", ErrCleanUnknownSet, cluster, name)
	case len(r.Sets[at].Members) > 0:
		return nil, refused("set %s/%s has %d numbers; remove them first with `snowgrid identity clean`", cluster, name,
			len(r.Sets[at].Members))
	}
	s := r.Sets[at]
	next := *r
	next.Sets = slices.Delete(slices.Clone(r.Sets), at, at+1)
	next.Dropped = WithDropped(r.Dropped, []DroppedSet{{Set: hashOf(cluster, name), Next: s.Next, Removed: s.Removed}})
	if len(next.Dropped) > maxDropped {
		return nil, refused("%d sets were dropped, the most that the grid can record; use an existing set", maxDropped)
	}
	return &next, nil
}

// WithDropped merges dropped sets; each continues at the later end.
func WithDropped(dropped, others []DroppedSet) []DroppedSet {
	out := slices.Clone(dropped)
	for _, d := range others {
		at, found := searchDropped(out, d.Set)
		if !found {
			out = slices.Insert(out, at, DroppedSet{Set: d.Set})
		}
		out[at].Next, out[at].Removed = max(out[at].Next, d.Next), max(out[at].Removed, d.Removed)
	}
	return out
}

// checkDropped reports, as an [ErrInvalid], dropped sets that no sequence of commands can produce.
func checkDropped(dropped []DroppedSet) error {
	if len(dropped) > maxDropped {
		return invalidf("%d dropped sets; at most %d are allowed", len(dropped), maxDropped)
	}
	for i, d := range dropped {
		if i > 0 && dropped[i-1].Set >= d.Set || d.Next < 1 || d.Next > MaxNumber || d.Removed >= MaxNumber {
			return invalidf("dropped set %016x is out of order, or next number %d or greatest removed incarnation %d is out of range", d.Set, d.Next, d.Removed)
		}
	}
	return nil
}

// hashOf returns the hash of a set's names, which have no control characters.
func hashOf(cluster, name string) uint64 { return Hash(cluster + "\x00" + name) }

func searchDropped(dropped []DroppedSet, set uint64) (int, bool) {
	return slices.BinarySearchFunc(dropped, set, func(d DroppedSet, set uint64) int { return cmp.Compare(d.Set, set) })
}
