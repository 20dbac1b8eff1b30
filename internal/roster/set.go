package roster

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
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
)

// Set gives the processes with one purpose persistent numbers 1, 2, 3 and so on. Next never
// decreases, even if the set is dropped and created again, so no number is given to two processes.
type Set struct {
	Cluster string `json:"cluster"` // 1 to MaxSetName bytes
	Name    string `json:"name"`    // 1 to MaxSetName bytes, unique in its cluster
	// Next is the next process's number, above all numbers given so far.
	Next uint64 `json:"next"`
	// Removed is the greatest incarnation among removed processes. A process that is restored under
	// a removed number starts above it.
	Removed uint64 `json:"removed,omitempty"`
	// Members lists the processes that have a number, by ID.
	Members []Numbered `json:"members,omitempty"`
}

// Numbered is a process with a persistent number: a member of the grid or a client, across its
// restarts and addresses.
type Numbered struct {
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
	// Member is the grid member that has the number, "" for a client.
	Member MemberID `json:"member,omitempty"`
}

// Set returns a set by name, if any process has ever applied for one of its numbers.
func (r *Roster) Set(cluster, name string) (Set, bool) {
	at, found := searchSet(r.Sets, cluster, name)
	if !found {
		return Set{}, false
	}
	return r.Sets[at], true
}

// Numbered returns the process that has a number.
func (s Set) Numbered(id uint64) (Numbered, bool) {
	at, found := searchNumbered(s.Members, id)
	if !found {
		return Numbered{}, false
	}
	return s.Members[at], true
}

// WithNext returns sets with their next numbers raised to at least the ones in others. A set that
// exists only in others is added without members.
func WithNext(sets, others []Set) []Set {
	out := slices.Clone(sets)
	for _, other := range others {
		at, found := searchSet(out, other.Cluster, other.Name)
		if !found {
			out = slices.Insert(out, at, Set{Cluster: other.Cluster, Name: other.Name})
		}
		out[at].Next, out[at].Removed = max(out[at].Next, other.Next), max(out[at].Removed, other.Removed)
	}
	return out
}

// CheckIdentity returns nil for a number's registered incarnation, and for a later incarnation,
// which this older roster lacks. The error is [ErrFenced] for an earlier incarnation,
// [ErrNotRegistered] for a removed number, and [ErrUnknownSet] for a number that was not yet given
// as far as this roster shows.
func (r *Roster) CheckIdentity(cluster, name string, id, incarnation uint64) error {
	s, exists := r.Set(cluster, name)
	if !exists {
		s = r.newSet(cluster, name)
	}
	switch m, found := s.Numbered(id); {
	case id == 0 || incarnation == 0:
		return invalidf("identity %s/%s: number %d with incarnation %d; both start at 1", cluster, name, id, incarnation)
	case !found && id >= s.Next:
		return fmt.Errorf("%w: number %d of %s/%s is not in the roster here", ErrUnknownSet, id, cluster, name)
	case !found:
		return notRegistered(cluster, name, id, "it was removed")
	case incarnation < m.Incarnation:
		return fenced(cluster, name, m, incarnation)
	}
	return nil
}

// CheckSets returns an [ErrInvalid] for sets that no sequence of commands produces.
func CheckSets(sets []Set) error {
	if len(sets) > MaxSets || countNumbered(sets) > MaxNumbered {
		return invalidf("%d sets with %d numbers; at most %d and %d are allowed", len(sets), countNumbered(sets), MaxSets,
			MaxNumbered)
	}
	for i, s := range sets {
		if i > 0 && compareSets(sets[i-1], s) >= 0 {
			return invalidf("set %s/%s is a duplicate or out of order", s.Cluster, s.Name)
		}
		if fault := s.fault(); fault != "" {
			return invalidf("set %.80s/%.80s: %s", s.Cluster, s.Name, fault)
		}
	}
	return nil
}

// fault describes the error in a set, "" for none.
func (s Set) fault() string {
	if fault := nameFault(s.Cluster, s.Name); fault != "" {
		return fault
	}
	if s.Next < 1 || s.Next > MaxNumber || s.Removed >= MaxNumber {
		return fmt.Sprintf("next number %d or greatest removed incarnation %d is out of range", s.Next, s.Removed)
	}
	for i, m := range s.Members {
		if i > 0 && s.Members[i-1].ID >= m.ID || m.ID < 1 || m.ID >= s.Next {
			return fmt.Sprintf("number %d is out of order or not from 1 to %d", m.ID, s.Next-1)
		}
		if fault := m.fault(); fault != "" {
			return fmt.Sprintf("number %d: %s", m.ID, fault)
		}
	}
	return ""
}

// fault describes the error in a numbered process, "" for none.
func (m Numbered) fault() string {
	switch {
	case !isPlain(m.Addr):
		return fmt.Sprintf("address %.40q must be at most %d bytes of UTF-8 without control characters", m.Addr, maxText)
	case m.Member != "" && !isHex(string(m.Member)):
		return fmt.Sprintf("member ID %.40q is not %d lower-case hex digits", string(m.Member), idDigits)
	case m.Incarnation >= MaxNumber:
		return fmt.Sprintf("incarnation %d is not below %d", m.Incarnation, uint64(MaxNumber))
	case (m.Incarnation == 0) != m.Start.IsZero() || m.Incarnation > 0 && m.Code.IsZero():
		return "it is registered without a code or a start, each 128 random bits"
	}
	return ""
}

// CheckSetName returns an [ErrInvalid] for a malformed set name.
func CheckSetName(cluster, name string) error {
	if fault := nameFault(cluster, name); fault != "" {
		return invalidf("%s", fault)
	}
	return nil
}

// nameFault describes the error in a set's names, "" for none.
func nameFault(cluster, name string) string {
	for _, n := range [...]struct{ of, text string }{{"cluster", cluster}, {"name", name}} {
		if n.text == "" || len(n.text) > MaxSetName || !isPlain(n.text) {
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

func searchNumbered(members []Numbered, id uint64) (int, bool) {
	return slices.BinarySearchFunc(members, id, func(m Numbered, id uint64) int { return cmp.Compare(m.ID, id) })
}

func countNumbered(sets []Set) (n int) {
	for _, s := range sets {
		n += len(s.Members)
	}
	return n
}

func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// Code is 128 random bits; its text is 32 lower-case hex digits.
type Code [16]byte

// IsZero reports whether c is unset.
func (c Code) IsZero() bool { return c == Code{} }

// String returns 32 lower-case hex digits.
func (c Code) String() string { return hex.EncodeToString(c[:]) }

// MarshalText returns the output of [Code.String]. It never fails.
func (c Code) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, c[:]), nil }

// UnmarshalText accepts exactly the output of [Code.MarshalText]. Anything else is an [ErrInvalid]
// and leaves the code unchanged.
func (c *Code) UnmarshalText(text []byte) error {
	var read Code
	if len(text) == hex.EncodedLen(len(read)) {
		if _, err := hex.Decode(read[:], text); err == nil && read.String() == string(text) {
			*c = read
			return nil
		}
	}
	return invalidf("code %.40q is not 32 lower-case hex digits", text)
}
