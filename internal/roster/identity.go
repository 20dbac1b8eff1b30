package roster

import (
	"fmt"
	"slices"
)

// Identity is one step on a set. Exactly one part is set: Apply, Register, Clean, Import or Drop.
// Its conditions depend only on the set at the time it is applied. It therefore carries no version,
// keeps the roster's version, and can be repeated: a lost reply costs no number. It grants nothing,
// so it leaves the basis for grants unchanged, including Stopped.
type Identity struct {
	Cluster  string        `json:"cluster"`
	Name     string        `json:"name"`
	Apply    *Application  `json:"apply,omitempty"`
	Register *Registration `json:"register,omitempty"`
	Clean    []Cleaned     `json:"clean,omitempty"`
	Import   *Imported     `json:"import,omitempty"`
	// Drop removes the set, which must have no numbers.
	Drop bool `json:"drop,omitempty"`
}

// Application requests a number. It is accepted for the set's next number, and for a number already
// given with the same code. Any other number is refused with a [*RefusedID].
type Application struct {
	ID   uint64 `json:"id"`
	Code Code   `json:"code"` // not zero
	Addr string `json:"addr,omitempty"`
}

// Registration registers a process that has a number. If the process already has the incarnation
// (same Start), only the address changes. The error is [ErrNotRegistered] or [ErrFenced].
type Registration struct {
	ID     uint64   `json:"id"`
	Code   Code     `json:"code"`
	Addr   string   `json:"addr,omitempty"`
	Start  Code     `json:"start"` // not zero
	Member MemberID `json:"member,omitempty"`
	// Incarnation is the process's current incarnation, 0 for none. If it is earlier than the
	// registered one, the process is fenced. If it is later, the grid has lost registrations, and
	// the next incarnation is above it.
	Incarnation uint64 `json:"incarnation,omitempty"`
}

// Cleaned is a number to remove. The number stays if its process has another incarnation by then.
type Cleaned struct {
	ID          uint64 `json:"id"`
	Incarnation uint64 `json:"incarnation,omitempty"`
}

// Imported restores numbers that a grid lost with its data. Numbers that the set still has stay. If
// one has another code, the whole import is refused.
type Imported struct {
	Next    uint64        `json:"next,omitempty"` // minimum for the next number; 0 if not stated
	Numbers []Application `json:"numbers,omitempty"`
}

// Check returns an [ErrInvalid] for a malformed step.
func (c Identity) Check() error {
	if fault := c.fault(); fault != "" {
		return invalidf("%s", fault)
	}
	return nil
}

// fault describes the error in a step, "" for none.
func (c Identity) fault() string {
	steps := 0
	for _, set := range [...]bool{c.Apply != nil, c.Register != nil, len(c.Clean) > 0, c.Import != nil, c.Drop} {
		if set {
			steps++
		}
	}
	if fault := nameFault(c.Cluster, c.Name); fault != "" {
		return fault
	}
	switch {
	case steps != 1:
		return fmt.Sprintf("it has %d set steps, but must have one", steps)
	case c.Apply != nil:
		return c.Apply.fault(true)
	case c.Register != nil:
		g := c.Register
		m := Numbered{ID: g.ID, Code: g.Code, Addr: g.Addr, Incarnation: max(1, g.Incarnation), Start: g.Start,
			Member: g.Member}
		if g.ID < 1 || g.ID >= MaxNumber {
			return outOfBounds("number", int64(g.ID), 1, MaxNumber-1)
		}
		return m.fault()
	case c.Import != nil && c.Import.Next > MaxNumber:
		return outOfBounds("next number", int64(c.Import.Next), 1, MaxNumber)
	case c.Import != nil:
		for _, a := range c.Import.Numbers {
			if fault := a.fault(false); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// fault describes the error in an application, "" for none.
func (a Application) fault(coded bool) string {
	if a.ID < 1 || a.ID >= MaxNumber {
		return outOfBounds("number", int64(a.ID), 1, MaxNumber-1)
	}
	if coded && a.Code.IsZero() {
		return fmt.Sprintf("number %d has no code; give 128 random bits as %d hex digits", a.ID, 2*len(a.Code))
	}
	return Numbered{Addr: a.Addr}.fault()
}

// identify applies a step to its set.
func (r *Roster) identify(c Identity) (*Roster, error) {
	if fault := c.fault(); fault != "" {
		return nil, refused("%s", fault)
	}
	if c.Drop {
		return r.dropSet(c.Cluster, c.Name)
	}
	at, found := searchSet(r.Sets, c.Cluster, c.Name)
	set := r.newSet(c.Cluster, c.Name)
	if found {
		set = r.Sets[at]
	}
	after, err := set.step(c, found)
	if err != nil {
		return nil, err
	}
	if found && after.Next == set.Next && after.Removed == set.Removed && slices.Equal(after.Members, set.Members) {
		return r, nil // repeated
	}
	next := *r
	next.Sets = slices.Clone(r.Sets)
	if !found {
		next.Sets = slices.Insert(next.Sets, at, after)
	}
	next.Sets[at] = after
	if n := countNumbered(next.Sets); len(next.Sets) > MaxSets || n > MaxNumbered {
		return nil, refused("%d sets with %d numbers exceed the grid's limits, %d and %d; remove numbers with `snowgrid identity clean`, and sets without numbers with `snowgrid identity drop`",
			len(next.Sets), n, MaxSets, MaxNumbered)
	}
	return &next, nil
}

// step returns the set after a step; found reports that the set already exists.
func (s Set) step(c Identity, found bool) (Set, error) {
	switch {
	case c.Apply != nil:
		return s.apply(*c.Apply)
	case c.Register != nil:
		return s.register(*c.Register)
	case c.Import != nil:
		return s.restore(*c.Import)
	case !found:
		return s, fmt.Errorf("%w: set %s/%s", ErrCleanUnknownSet, s.Cluster, s.Name)
	}
	return s.clean(c.Clean)
}

func (s Set) apply(a Application) (Set, error) {
	m, given := s.Numbered(a.ID)
	switch {
	case given && m.Code == a.Code:
		return s, nil
	case a.ID != s.Next:
		return s, s.refuse(a.ID, given)
	}
	s.Members = append(slices.Clip(s.Members), Numbered{ID: a.ID, Code: a.Code, Addr: a.Addr})
	s.Next++
	return s, nil
}

// refuse returns the error for a refused application.
func (s Set) refuse(id uint64, given bool) error {
	reason := "it is not the next one"
	if given {
		reason = "another process has it"
	}
	return &RefusedID{Next: s.Next, Reason: fmt.Sprintf("grid: number %d of %s/%s refused: %s; the next number is %d", id,
		s.Cluster, s.Name, reason, s.Next)}
}

func (s Set) register(g Registration) (Set, error) {
	at, found := searchNumbered(s.Members, g.ID)
	if !found {
		return s, notRegistered(s.Cluster, s.Name, g.ID, "no process has it")
	}
	m := s.Members[at]
	switch {
	case !m.Code.IsZero() && m.Code != g.Code:
		return s, notRegistered(s.Cluster, s.Name, g.ID, "another process has it, with another code")
	case g.Start != m.Start && (g.Incarnation > 0 && g.Incarnation < m.Incarnation || g.Start == m.Before):
		return s, fenced(s.Cluster, s.Name, m, g.Incarnation)
	}
	given := max(m.Incarnation, s.Removed)
	if g.Incarnation > given+maxLost {
		return s, refused("number %d of %s/%s: incarnation %d is more than %d above %d, the greatest that the grid has issued; register without it", g.ID, s.Cluster, s.Name, g.Incarnation, maxLost, given)
	}
	if m.Incarnation == 0 {
		m.Incarnation = s.Removed
	}
	m.Incarnation = max(m.Incarnation, g.Incarnation)
	if g.Start != m.Start {
		if m.Incarnation++; m.Incarnation >= MaxNumber {
			return s, refused("number %d of %s/%s has used all its incarnations, up to %d; use another set", g.ID, s.Cluster,
				s.Name, uint64(MaxNumber)-1)
		}
		m.Start, m.Before = g.Start, m.Start
	}
	m.Code, m.Member = g.Code, g.Member
	if g.Addr != "" {
		m.Addr = g.Addr
	}
	if m == s.Members[at] { // a sign of life
		return s, nil
	}
	s.Members = slices.Clone(s.Members)
	s.Members[at] = m
	return s, nil
}

func (s Set) clean(numbers []Cleaned) (Set, error) {
	for _, c := range numbers {
		if m, found := s.Numbered(c.ID); found && m.Incarnation != c.Incarnation {
			return s, fmt.Errorf("%w: number %d of %s/%s has incarnation %d, not %d", ErrStale, c.ID, s.Cluster, s.Name,
				m.Incarnation, c.Incarnation)
		}
	}
	s.Members = slices.DeleteFunc(slices.Clone(s.Members), func(m Numbered) bool {
		gone := slices.ContainsFunc(numbers, func(c Cleaned) bool { return c.ID == m.ID })
		if gone {
			s.Removed = max(s.Removed, m.Incarnation)
		}
		return gone
	})
	return s, nil
}

func (s Set) restore(in Imported) (Set, error) {
	s.Members = slices.Clone(s.Members)
	s.Next = max(s.Next, in.Next)
	for _, a := range in.Numbers {
		s.Next = max(s.Next, a.ID+1)
		at, found := searchNumbered(s.Members, a.ID)
		switch {
		case !found:
			s.Members = slices.Insert(s.Members, at, Numbered{ID: a.ID, Code: a.Code, Addr: a.Addr})
		case s.Members[at].Code.IsZero():
			s.Members[at].Code = a.Code
		case !a.Code.IsZero() && s.Members[at].Code != a.Code:
			return s, refused("number %d of %s/%s belongs to a process with another code; nothing was imported", a.ID, s.Cluster,
				s.Name)
		}
	}
	return s, nil
}

func notRegistered(cluster, name string, id uint64, reason string) error {
	return fmt.Errorf("%w: number %d of %s/%s: %s; if the grid's data was lost, run `snowgrid identity import`; if the process is to start with a new number, remove its files", ErrNotRegistered, id, cluster, name, reason)
}

func fenced(cluster, name string, m Numbered, incarnation uint64) error {
	return fmt.Errorf("%w: number %d of %s/%s has incarnation %d at %q, and this process has %d; stop it: its directory was copied, or it was replaced",
		ErrFenced, m.ID, cluster, name, m.Incarnation, m.Addr, incarnation)
}
