package numbers

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
)

// maxDropped is the maximum number of dropped sets that a grid records. [Registry.Merge] may add the sets of a survivor
// for which there is no room, so a registry may have as many more.
const maxDropped = 4096

// Dropped records the next number of a dropped set. A new set with the same name continues there, so
// that no number is given twice (N2). Sets with equal hashes share one record, which only skips
// numbers.
type Dropped struct {
	Set     uint64 `json:"set"` // hash of its names
	Next    uint64 `json:"next"`
	Removed uint64 `json:"removed,omitempty"`
}

// dropped returns the record that replaces the set.
func (s Set) dropped() Dropped {
	return Dropped{Set: hashOf(s.Cluster, s.Name), Next: s.Next, Removed: s.Greatest()}
}

// newSet returns a new set: it continues where a dropped one with its name ended.
func (r Registry) newSet(cluster, name string) Set {
	s := Set{Cluster: cluster, Name: name, Next: 1}
	if at, found := searchDropped(r.Dropped, hashOf(cluster, name)); found {
		s.Next, s.Removed = r.Dropped[at].Next, r.Dropped[at].Removed
	}
	return s
}

// drop removes a set without numbers. Dropping a dropped set again has no effect.
func (r Registry) drop(cluster, name string) (Registry, error) {
	at, found := searchSet(r.Sets, cluster, name)
	_, dropped := searchDropped(r.Dropped, hashOf(cluster, name))
	switch {
	case !found && dropped:
		return r, nil
	case !found:
		return r, fmt.Errorf("%w: set %s/%s", ErrUnknownSet, cluster, name)
	case len(r.Sets[at].Members) > 0:
		return r, refusedf("set %s/%s has %d numbers; remove them first with `snowgrid identity clean`", cluster, name,
			len(r.Sets[at].Members))
	}
	s := r.Sets[at]
	next := Registry{
		Sets:    slices.Delete(slices.Clone(r.Sets), at, at+1),
		Dropped: withDropped(slices.Clone(r.Dropped), s.dropped()),
	}
	if !dropped && len(next.Dropped) > maxDropped {
		return r, refusedf("%d sets were dropped, the most that the grid can record; use an existing set", maxDropped)
	}
	return next, nil
}

// withDropped adds a dropped set in place. If out has the set already, the later end counts.
func withDropped(out []Dropped, d Dropped) []Dropped {
	at, found := searchDropped(out, d.Set)
	if !found {
		return slices.Insert(out, at, d)
	}
	out[at].Next, out[at].Removed = max(out[at].Next, d.Next), max(out[at].Removed, d.Removed)
	return out
}

// droppedFault describes the error in dropped sets that no sequence of commands can produce.
func droppedFault(dropped []Dropped) string {
	if len(dropped) > maxDropped+MaxSets {
		return fmt.Sprintf("%d dropped sets; at most %d are allowed", len(dropped), maxDropped+MaxSets)
	}
	for i, d := range dropped {
		if i > 0 && dropped[i-1].Set >= d.Set || d.Next < 1 || d.Next > MaxNumber || d.Removed >= MaxNumber {
			return fmt.Sprintf("dropped set %016x is out of order, or next number %d or greatest removed incarnation %d is "+
				"out of range", d.Set, d.Next, d.Removed)
		}
	}
	return ""
}

// hashOf returns the hash of a set's names, which have no control characters.
func hashOf(cluster, name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(cluster + "\x00" + name)) // never fails
	return h.Sum64()
}

func searchDropped(dropped []Dropped, set uint64) (int, bool) {
	return slices.BinarySearchFunc(dropped, set, func(d Dropped, set uint64) int { return cmp.Compare(d.Set, set) })
}
