// Package numbers defines the sets that give processes persistent numbers. A [Registry] is the part
// of a grid's roster with all sets: an immutable value and a state machine. The members apply the
// same commands in the same order, so each rule (N1 to N4 in proof/RULES.md) is decided where a
// command is applied, whichever member leads:
//
//	           Check, CheckNew            the log
//	request ------------------> Tracker ----------> Registry.Apply on every member
//	                            (leader)
//
// A [Tracker] is the leader's part: it proposes the commands, and tracks which processes are alive.
// The process's part is package identity. The package is pure: it does not wait, log, read a clock
// or draw a random number.
package numbers

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Bounds on sets. They are in the roster, which every member keeps in memory and copies as a whole.
const (
	MaxSets     = 256     // sets per grid
	MaxNumbered = 8192    // numbered processes in all sets together
	MaxSetName  = 63      // bytes in a cluster's or set's name
	MaxNumber   = 1 << 53 // exceeds every number and incarnation; every JSON reader represents it exactly

	// maxLost is the maximum number of incarnations that a grid can have lost with its data. It
	// prevents a registration that states a later incarnation from exhausting them.
	maxLost = 1 << 20

	memberDigits = 16 // in a grid member's ID
)

// Registry has all sets of a grid. It never changes; [Registry.Apply] returns a new one, which shares
// the unchanged parts. The zero value has no sets.
type Registry struct {
	// Sets give processes persistent numbers. Sorted by cluster and name.
	Sets []Set `json:"sets,omitempty"`
	// Dropped records the next numbers of dropped sets. Sorted.
	Dropped []Dropped `json:"dropped,omitempty"`
}

// Set gives the processes with one purpose persistent numbers 1, 2, 3 and so on. Next never
// decreases, even if the set is dropped and created again, so no number is given to two processes.
type Set struct {
	Cluster string `json:"cluster"` // 1 to MaxSetName bytes
	Name    string `json:"name"`    // 1 to MaxSetName bytes, unique in its cluster
	// Next is the next process's number, above all numbers given so far.
	Next uint64 `json:"next"`
	// Removed is the greatest incarnation among removed processes, and among those before an import. Each start
	// gets a greater one.
	Removed uint64 `json:"removed,omitempty"`
	// Members lists the processes that have a number, by ID.
	Members []Process `json:"members,omitempty"`
}

// Process is a process with a persistent number: a member of the grid or a client, across its
// restarts and addresses.
type Process struct {
	ID uint64 `json:"id"`
	// Code is the random value with which the process applied for its number. Each registration
	// presents it as proof. It is zero for a number that an operator imported without it; the first
	// registration sets it.
	Code Code   `json:"code"`
	Addr string `json:"addr,omitempty"` // its last address, for display
	// Incarnation increases with each registration of another process; it is 0 before the first. A
	// process with an older incarnation is fenced.
	Incarnation uint64 `json:"incarnation,omitempty"`
	// Start is the random value of the process with Incarnation; it identifies a repeated
	// registration. Before is the previous process's value.
	Start  Code `json:"start"`
	Before Code `json:"before"`
	// Member is the ID of the grid member that has the number, "" for a client.
	Member string `json:"member,omitempty"`
}

// State returns the state of a process, for display: imported by an operator, when none has registered
// yet; applied, when it has not registered yet; or registered.
func (p Process) State() string {
	switch {
	case p.Code.IsZero():
		return "imported"
	case p.Incarnation == 0:
		return "applied"
	}
	return "registered"
}

// HasSets reports whether r has sets, present or dropped. A method IsZero would let encoders leave
// out a struct that embeds r.
func (r Registry) HasSets() bool { return len(r.Sets)+len(r.Dropped) > 0 }

// Set returns a set by name, if any process has ever applied for one of its numbers.
func (r Registry) Set(cluster, name string) (Set, bool) {
	at, found := searchSet(r.Sets, cluster, name)
	if !found {
		return Set{}, false
	}
	return r.Sets[at], true
}

// Process returns the process that has a number.
func (s Set) Process(id uint64) (Process, bool) {
	at, found := searchProcess(s.Members, id)
	if !found {
		return Process{}, false
	}
	return s.Members[at], true
}

// NextNumber returns the number that a set gives next, which may not exist yet.
func (r Registry) NextNumber(cluster, name string) uint64 {
	s, _ := r.setOrNew(cluster, name)
	return s.Next
}

// setOrNew returns a set, or the new set for the first application.
func (r Registry) setOrNew(cluster, name string) (s Set, exists bool) {
	if s, exists = r.Set(cluster, name); !exists {
		s = r.newSet(cluster, name)
	}
	return s, exists
}

// Merge returns r with each next number raised to at least the one in other, also if either has dropped the
// set. A set that exists only in other is added without members, and as a dropped one if there are too many.
func (r Registry) Merge(other Registry) Registry {
	out := Registry{Sets: slices.Clone(r.Sets), Dropped: slices.Clone(r.Dropped)}
	for _, d := range other.Dropped {
		out.Dropped = withDropped(out.Dropped, d)
	}
	for _, s := range other.Sets {
		at, found := searchSet(out.Sets, s.Cluster, s.Name)
		switch {
		case !found && len(out.Sets) >= MaxSets:
			out.Dropped = withDropped(out.Dropped, s.dropped())
			continue
		case !found:
			out.Sets = slices.Insert(out.Sets, at, Set{Cluster: s.Cluster, Name: s.Name})
		}
		out.Sets[at].raise(s.Next, s.Greatest())
	}
	for i := range out.Sets {
		s := &out.Sets[i]
		begun := out.newSet(s.Cluster, s.Name)
		s.raise(begun.Next, begun.Removed)
	}
	return out
}

// Greatest returns the greatest incarnation that the set has given.
func (s Set) Greatest() uint64 {
	greatest := s.Removed
	for _, p := range s.Members {
		greatest = max(greatest, p.Incarnation)
	}
	return greatest
}

// raise has the set give numbers and incarnations above all that another registry gave.
func (s *Set) raise(next, removed uint64) {
	s.Next, s.Removed = max(s.Next, next), max(s.Removed, removed)
}

// CheckIdentity returns nil for a number's registered incarnation, and for a later incarnation,
// which this older registry lacks. The error is [ErrFenced] for an earlier incarnation,
// [ErrNotRegistered] for a removed number, [ErrUnknownSet] for a number that was not yet given as
// far as this registry shows, and [ErrInvalid].
func (r Registry) CheckIdentity(cluster, name string, id, incarnation uint64) error {
	if err := CheckName(cluster, name); err != nil { // the names are in the texts of errors
		return err
	}
	s, _ := r.setOrNew(cluster, name)
	switch p, found := s.Process(id); {
	case id == 0 || incarnation == 0:
		return invalidf("identity %s/%s: number %d with incarnation %d; both start at 1", cluster, name, id, incarnation)
	case !found && id >= s.Next:
		return fmt.Errorf("%w: number %d of %s/%s is not in the roster here", ErrUnknownSet, id, cluster, name)
	case !found:
		return notRegistered(cluster, name, id, "it was removed")
	case incarnation < p.Incarnation:
		return fenced(cluster, name, p, incarnation)
	}
	return nil
}

// Registered returns the process with a number, and its set, after its start was registered. Another step may have
// followed: the error is [ErrNotRegistered] if the number was removed, and [ErrFenced] if another start registered.
func (r Registry) Registered(cluster, name string, id uint64, start Code) (s Set, p Process, err error) {
	s, _ = r.Set(cluster, name)
	p, found := s.Process(id)
	switch {
	case !found:
		return s, p, notRegistered(cluster, name, id, "it was removed")
	case p.Start != start:
		return s, p, fmt.Errorf("%w: number %d of %s/%s: another process registered with it concurrently, at %q", ErrFenced,
			id, cluster, name, p.Addr)
	}
	return s, p, nil
}

// CheckName returns an [ErrInvalid] for a malformed name of a set.
func CheckName(cluster, name string) error { return invalidIf(NameFault(cluster, name)) }

// SetsFault describes the error in a registry that no sequence of commands produces, "" for none. It
// examines only the parts that r does not share with an earlier registry.
func (r Registry) SetsFault(before Registry) string {
	if n := countProcesses(r.Sets); len(r.Sets) > MaxSets || n > MaxNumbered {
		return fmt.Sprintf("%d sets with %d numbers; at most %d and %d are allowed", len(r.Sets), n, MaxSets, MaxNumbered)
	}
	if !isShared(before.Sets, r.Sets) {
		for i, s := range r.Sets {
			if i > 0 && compareSets(r.Sets[i-1], s) >= 0 {
				return fmt.Sprintf("set %s/%s is a duplicate or out of order", s.Cluster, s.Name)
			}
			if fault := s.fault(); fault != "" {
				return fmt.Sprintf("set %.80s/%.80s: %s", s.Cluster, s.Name, fault)
			}
		}
	}
	if !isShared(before.Dropped, r.Dropped) {
		return droppedFault(r.Dropped)
	}
	return ""
}

// isShared reports whether two slices have the same backing array and length.
func isShared[T any](a, b []T) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// fault describes the error in a set, "" for none.
func (s Set) fault() string {
	if fault := NameFault(s.Cluster, s.Name); fault != "" {
		return fault
	}
	if s.Next < 1 || s.Next > MaxNumber || s.Removed >= MaxNumber {
		return fmt.Sprintf("next number %d or greatest removed incarnation %d is out of range", s.Next, s.Removed)
	}
	for i, p := range s.Members {
		if i > 0 && s.Members[i-1].ID >= p.ID || p.ID < 1 || p.ID >= s.Next {
			return fmt.Sprintf("number %d is out of order or not from 1 to %d", p.ID, s.Next-1)
		}
		if fault := p.fault(); fault != "" {
			return fmt.Sprintf("number %d: %s", p.ID, fault)
		}
	}
	return ""
}

// fault describes the error in a process, "" for none.
func (p Process) fault() string {
	switch {
	case !spelling.IsPlain(p.Addr):
		return fmt.Sprintf("address %.40q must be at most %d bytes of UTF-8 without control characters", p.Addr,
			spelling.MaxPlain)
	case p.Member != "" && !spelling.IsHex(p.Member, memberDigits):
		return fmt.Sprintf("member ID %.40q is not %d lower-case hex digits", p.Member, memberDigits)
	case p.Incarnation >= MaxNumber:
		return fmt.Sprintf("incarnation %d is not below %d", p.Incarnation, uint64(MaxNumber))
	case (p.Incarnation == 0) != p.Start.IsZero() || p.Incarnation > 0 && p.Code.IsZero():
		return "it is registered without a code or a start, each 128 random bits"
	}
	return ""
}

// NameFault describes the error in a set's names, "" for none.
func NameFault(cluster, name string) string {
	for _, n := range [...]struct{ of, text string }{{"cluster", cluster}, {"name", name}} {
		if n.text == "" || len(n.text) > MaxSetName || !spelling.IsPlain(n.text) {
			return fmt.Sprintf("set %s %.80q must be 1 to %d bytes of UTF-8 without control characters", n.of, n.text,
				MaxSetName)
		}
	}
	return ""
}

func compareSets(a, b Set) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name))
}

func searchSet(sets []Set, cluster, name string) (int, bool) {
	return slices.BinarySearchFunc(sets, Set{Cluster: cluster, Name: name}, compareSets)
}

func searchProcess(members []Process, id uint64) (int, bool) {
	return slices.BinarySearchFunc(members, id, func(p Process, id uint64) int { return cmp.Compare(p.ID, id) })
}

func countProcesses(sets []Set) (n int) {
	for _, s := range sets {
		n += len(s.Members)
	}
	return n
}
