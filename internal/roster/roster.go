// Package roster defines the state that all members of a grid agree on by Raft: the
// members, the owner and the replicas of each partition, the disks that have its
// definitions, the settings, and the ceiling below which owners may grant timestamps.
//
// A [Roster] is an immutable value and a state machine. Each [Command] is computed from
// one version of it and is refused at any other version, so two leaders cannot both be
// obeyed:
//
//	       plan.Sight                Command               new *Roster
//	leader ----------> plan.Planner ---------> (the log) -------------> Roster.Apply
//	                                                                   on every member
//
// The names of sequencers are spread over a fixed number of partitions by [PartitionOf].
// Which member owns which partition is decided by package internal/roster/plan on the leader and
// recorded here, so members that run different releases of the planner cannot disagree.
//
// The package is pure: it does not wait, log, read a clock or draw a random number. The
// letters in comments (R3, I1) are the rules of proof/RULES.md.
package roster

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// Version counts the changes of a roster. An unformed roster has version 0.
type Version uint64

// Term is a partition's tenure: the roster version at which its owner was last
// set. No member was the owner in term 0.
type Term uint64

// Partition is the entry of one partition in the roster.
type Partition struct {
	// Owner decides for the partition; "" means that it has no owner yet.
	Owner Incarnation `json:"owner,omitempty"`
	// InSync are the replicas that hold every answered operation, the owner
	// among them. Sorted.
	InSync []Incarnation `json:"in_sync,omitempty"`
	// Joining is a member on its way into the in-sync set, "" for none. The owner
	// needs its acknowledgement as well (R5).
	Joining Incarnation `json:"joining,omitempty"`
	// Term grows with each change of owner.
	Term Term `json:"term"`
	// Floor is the ceiling as it was when the term began. Every version older
	// than the term had a ceiling at or below it (I1), so what an earlier owner
	// may still grant ends here.
	Floor clustertime.Tick `json:"floor_ms"`
	// LostTerm is the term of the last loss. A table of an earlier term than
	// this must not be used.
	LostTerm Term `json:"lost_term"`
	// Disk are the members whose disks each have every definition that was answered.
	// After a loss the next owner takes the definitions of any one of them. Sorted;
	// empty while no disk has them.
	Disk []MemberID `json:"disk,omitempty"`
	// Memory says that those of Disk have the definitions in memory, in a grid without data
	// directories.
	Memory bool `json:"memory,omitempty"`
}

// Roster is the state all members agree on by applying the same commands in the
// same order. A roster never changes; [Roster.Apply] returns a new one that shares
// the unchanged parts, so a roster may be read concurrently, and its slices must not
// be written. The zero value is the unformed roster.
//
//	           Form                Change, Reset (version + 1)
//	unformed --------> formed <--+  Raise (same version, higher ceiling)
//	version 0      version 1..   |  Identity (same version, same ceiling)
//	                   +---------+
type Roster struct {
	Grid    GridID  `json:"grid"`
	Version Version `json:"version"`
	// Claim is that of the last take of the grid's record in a store, "" for a grid
	// without an anchor.
	Claim Claim `json:"claim,omitempty"`
	// Anchored says that the grid has an anchor, or is to have one before it does
	// anything.
	Anchored bool `json:"anchored,omitempty"`
	// Restarted says that partitions had owners before an anchored grid was reset.
	Restarted bool `json:"restarted,omitempty"`
	// Ceiling is the timestamp below which owners may grant. It only grows (I1),
	// and may be used only together with the version it was read with (R6).
	Ceiling clustertime.Tick `json:"ceiling_ms"`
	// Time is the cluster time of the last raise, 0 before the first.
	Time clustertime.Tick `json:"time_ms"`
	// Stopped is where grants ended when the last member of a durable or anchored grid
	// stopped in order, and 0 from the next command on (S1).
	Stopped  clustertime.Tick `json:"stopped_ms,omitempty"`
	Settings Settings         `json:"settings"`
	KeepsLog bool             `json:"keeps_log,omitempty"` // every member that formed it keeps its log on disk
	Began    clustertime.Tick `json:"began_ms,omitempty"`  // the ceiling as it was formed
	Protocol Protocol         `json:"protocol,omitempty"`  // that every member has; 0 is Protocol1
	// Members are sorted by incarnation; no two are of one member ID.
	Members []Member `json:"members"`
	// Unsettled are the members that do not have all their replicas in sync yet.
	// Sorted.
	Unsettled []Incarnation `json:"unsettled,omitempty"`
	// Keepers are the voters of a grid without data directories, members or not. A majority of
	// them keeps the definitions of each partition in memory. Sorted.
	Keepers []Incarnation `json:"keepers,omitempty"`
	// Partitions has one entry for each partition, by ID.
	Partitions []Partition `json:"partitions"`
	// Sets give processes persistent numbers. Sorted by cluster and name.
	Sets []Set `json:"sets,omitempty"`
	// Dropped is where sets that were dropped would continue. Sorted.
	Dropped []DroppedSet `json:"dropped,omitempty"`
	// Quotas limit what holders may take. Sorted by pattern.
	Quotas []Quota `json:"quotas,omitempty"`
	// Recovered records the recovery that formed the grid, nil for none.
	Recovered *Recovery `json:"recovered,omitempty"`
}

// Formed reports whether there is a grid.
func (r *Roster) Formed() bool { return r.Version > 0 }

// Member gives the record of an incarnation, if it is a member.
func (r *Roster) Member(i Incarnation) (Member, bool) {
	at, found := searchMember(r.Members, i)
	if !found {
		return Member{}, false
	}
	return r.Members[at], true
}

// Owned gives the partitions of which an incarnation is the owner, in order.
func (r *Roster) Owned(i Incarnation) []PartitionID {
	var owned []PartitionID
	for id, p := range r.Partitions {
		if p.Owner == i && i != "" {
			owned = append(owned, PartitionID(id))
		}
	}
	return owned
}

// Settled reports whether a member has all replicas in sync that it is meant to
// have.
func (r *Roster) Settled(i Incarnation) bool {
	_, member := r.Member(i)
	return member && !slices.Contains(r.Unsettled, i)
}

// Keeps reports whether an incarnation is the partition's owner, one of its
// replicas, or about to become one.
func (p Partition) Keeps(i Incarnation) bool {
	return p.Owner == i || p.Joining == i || slices.Contains(p.InSync, i)
}

// Assigned reports whether there is a grid and every partition has an owner.
func (r *Roster) Assigned() bool {
	return r.Formed() && !slices.ContainsFunc(r.Partitions, func(p Partition) bool { return p.Owner == "" })
}

// Joining counts the partitions with a joining replica.
func (r *Roster) Joining() int {
	n := 0
	for _, p := range r.Partitions {
		if p.Joining != "" {
			n++
		}
	}
	return n
}

func searchMember(members []Member, i Incarnation) (int, bool) {
	return slices.BinarySearchFunc(members, i, func(m Member, i Incarnation) int {
		return cmp.Compare(m.Incarnation, i)
	})
}

func sortMembers(members []Member) {
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.Incarnation, b.Incarnation) })
}
