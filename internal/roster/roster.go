// Package roster defines the state that a grid's members replicate by Raft: the members, each
// partition's owner and replicas, the disks with its definitions, the settings, and the ceiling
// below which owners may grant timestamps.
//
// A [Roster] is an immutable value and a state machine. Each [Command] is computed from one version
// and is refused at any other version, so commands from two leaders cannot both take effect:
//
//	       plan.Sight                Command               new *Roster
//	leader ----------> plan.Planner ---------> (the log) -------------> Roster.Apply
//	                                                                   on every member
//
// [PartitionOf] spreads sequencer names over a fixed number of partitions. The leader assigns each
// partition to an owner (package internal/roster/plan), and the roster records the assignment.
// Members that run different releases of the planner therefore cannot disagree.
//
// The package is pure: it does not wait, log, read a clock or draw a random number. The codes in
// comments (R3, I1) refer to rules in proof/RULES.md.
package roster

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
)

// Version is the number of changes to a roster. An unformed roster has version 0.
type Version uint64

// Term is a partition's tenure: the roster version at which its owner was last set. No member owned
// it in term 0.
type Term uint64

// Partition is one partition's entry in the roster.
type Partition struct {
	// Owner is the partition's owner, "" if it has none yet.
	Owner Incarnation `json:"owner,omitempty"`
	// InSync lists the replicas that hold every acknowledged operation, including the owner.
	// Sorted.
	InSync []Incarnation `json:"in_sync,omitempty"`
	// Joining is a member that is about to join the in-sync set, "" for none. The owner needs its
	// acknowledgement as well (R5).
	Joining Incarnation `json:"joining,omitempty"`
	// Term increases with each change of owner.
	Term Term `json:"term"`
	// Floor is the ceiling at the beginning of the term. Every version before the term had a
	// ceiling at or below it (I1), so no earlier owner can grant above it.
	Floor clustertime.Tick `json:"floor_ms"`
	// LostTerm is the term of the last loss. A table from an earlier term must not be used.
	LostTerm Term `json:"lost_term"`
	// Disk lists the members that each have every acknowledged definition on disk. After a loss the
	// next owner loads the definitions from any one of them. Sorted; empty while no disk has them.
	Disk []MemberID `json:"disk,omitempty"`
	// Memory reports that the members in Disk have the definitions in memory, in a grid without
	// data directories.
	Memory bool `json:"memory,omitempty"`
}

// Roster is the replicated state of a grid: all members apply the same commands in the same order.
// A roster never changes; [Roster.Apply] returns a new one that shares the unchanged parts. A
// roster may be read concurrently, and its slices must not be written. The zero value is the
// unformed roster.
//
//	           Form                Change, Reset (version + 1)
//	unformed --------> formed <--+  Raise (same version, higher ceiling)
//	version 0      version 1..   |  Identity (same version, same ceiling)
//	                   +---------+
type Roster struct {
	Grid    GridID  `json:"grid"`
	Version Version `json:"version"`
	// Claim identifies the last take of the grid's record in a store, "" without an anchor.
	Claim Claim `json:"claim,omitempty"`
	// Anchored reports that the grid has an anchor, or must take one before it accepts other
	// commands.
	Anchored bool `json:"anchored,omitempty"`
	// Restarted reports that partitions had owners before an anchored grid was reset.
	Restarted bool `json:"restarted,omitempty"`
	// Ceiling is the timestamp below which owners may grant. It only increases (I1), and may be
	// used only together with the version it was read with (R6).
	Ceiling clustertime.Tick `json:"ceiling_ms"`
	// Time is the cluster time of the last raise, 0 before the first.
	Time clustertime.Tick `json:"time_ms"`
	// Stopped is the end of grants after the last member of a durable or anchored grid stopped in
	// an orderly way: no owner of the time grants anything. A Raise resets it to 0, and a Change that gives a partition
	// another owner (S1).
	Stopped  clustertime.Tick `json:"stopped_ms,omitempty"`
	Settings Settings         `json:"settings"`
	KeepsLog bool             `json:"keeps_log,omitempty"` // every member that formed it keeps its log on disk
	Began    clustertime.Tick `json:"began_ms,omitempty"`  // the ceiling when the grid was formed
	Protocol Protocol         `json:"protocol,omitempty"`  // supported by every member; 0 is Protocol1
	// Members are sorted by incarnation, with at most one incarnation per member ID.
	Members []Member `json:"members"`
	// Unsettled lists the members that do not yet have all their replicas in sync. Sorted.
	Unsettled []Incarnation `json:"unsettled,omitempty"`
	// Keepers lists the voters of a grid without data directories, members or not. A majority of
	// them keeps each partition's definitions in memory. Sorted.
	Keepers []Incarnation `json:"keepers,omitempty"`
	// Partitions has one entry per partition, by ID.
	Partitions []Partition `json:"partitions"`
	// Registry has the sets that give processes persistent numbers.
	numbers.Registry
	// Quotas limit holders' use of sequencers. Sorted by pattern.
	Quotas []Quota `json:"quotas,omitempty"`
	// Recovered records the recovery that formed the grid, nil for none.
	Recovered *Recovery `json:"recovered,omitempty"`
}

// Formed reports whether the grid has been formed.
func (r *Roster) Formed() bool { return r.Version > 0 }

// Member returns an incarnation's record, if it is a member.
func (r *Roster) Member(i Incarnation) (Member, bool) {
	at, found := searchMember(r.Members, i)
	if !found {
		return Member{}, false
	}
	return r.Members[at], true
}

// Owned returns the partitions that an incarnation owns, in order.
func (r *Roster) Owned(i Incarnation) []PartitionID {
	var owned []PartitionID
	for id, p := range r.Partitions {
		if p.Owner == i && i != "" {
			owned = append(owned, PartitionID(id))
		}
	}
	return owned
}

// Settled reports whether a member has all its intended replicas in sync.
func (r *Roster) Settled(i Incarnation) bool {
	_, member := r.Member(i)
	return member && !slices.Contains(r.Unsettled, i)
}

// Keeps reports whether an incarnation is the partition's owner, another replica, or a joining one.
func (p Partition) Keeps(i Incarnation) bool {
	return p.Owner == i || p.Joining == i || slices.Contains(p.InSync, i)
}

// Assigned reports whether the grid is formed and every partition has an owner.
func (r *Roster) Assigned() bool {
	return r.Formed() && !slices.ContainsFunc(r.Partitions, func(p Partition) bool { return p.Owner == "" })
}

// Joining returns the number of partitions with a joining replica.
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
