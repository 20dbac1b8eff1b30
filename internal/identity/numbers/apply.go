package numbers

import (
	"fmt"
	"slices"
)

// Apply returns the registry after a command, and whether it differs: a repeated command changes
// nothing. For a refused command it returns r, and an error that matches [ErrRefused],
// [ErrNotRegistered], [ErrFenced] or [ErrUnknownSet], or that reports a clean of a process which has
// registered again.
func (r Registry) Apply(c Command) (next Registry, changed bool, err error) {
	if fault := c.fault(); fault != "" {
		return r, false, refusedf("%s", fault)
	}
	if c.Drop {
		next, err = r.drop(c.Cluster, c.Name)
		return next, err == nil && len(next.Sets) < len(r.Sets), err
	}
	set, found := r.setOrNew(c.Cluster, c.Name)
	after, err := set.step(c, found)
	if err != nil {
		return r, false, err
	}
	if found && after.Next == set.Next && after.Removed == set.Removed && slices.Equal(after.Members, set.Members) {
		return r, false, nil // repeated
	}
	next = Registry{Sets: slices.Clone(r.Sets), Dropped: r.Dropped}
	at, _ := searchSet(next.Sets, c.Cluster, c.Name)
	if !found {
		next.Sets = slices.Insert(next.Sets, at, after)
	}
	next.Sets[at] = after
	if n := countProcesses(next.Sets); len(next.Sets) > MaxSets || n > MaxNumbered {
		return r, false, refusedf("%d sets with %d numbers exceed the grid's limits, %d and %d; remove numbers with "+
			"`snowgrid identity clean`, and sets without numbers with `snowgrid identity drop`",
			len(next.Sets), n, MaxSets, MaxNumbered)
	}
	return next, true, nil
}

// step returns the set after a command; found reports that the set already exists.
func (s Set) step(c Command, found bool) (Set, error) {
	switch {
	case c.Apply != nil:
		return s.apply(*c.Apply)
	case c.Register != nil:
		return s.register(*c.Register)
	case c.Import != nil:
		return s.restore(*c.Import)
	case !found:
		return s, fmt.Errorf("%w, so nothing is removed: set %s/%s", ErrUnknownSet, s.Cluster, s.Name)
	}
	return s.clean(c.Clean)
}

func (s Set) apply(a Application) (Set, error) {
	p, given := s.Process(a.ID)
	if given && p.Code == a.Code {
		return s, nil
	}
	if a.ID != s.Next {
		reason := "it is not the next one"
		if given {
			reason = "another process has it"
		}
		return s, &RefusedID{Next: s.Next, Reason: fmt.Sprintf("grid: number %d of %s/%s refused: %s; the next number is %d",
			a.ID, s.Cluster, s.Name, reason, s.Next)}
	}
	s.Members = append(slices.Clip(s.Members), Process{ID: a.ID, Code: a.Code, Addr: a.Addr})
	s.Next++
	return s, nil
}

func (s Set) register(g Registration) (Set, error) {
	at, found := searchProcess(s.Members, g.ID)
	if !found {
		return s, notRegistered(s.Cluster, s.Name, g.ID, "no process has it")
	}
	p := s.Members[at]
	switch {
	case !p.Code.IsZero() && p.Code != g.Code:
		return s, notRegistered(s.Cluster, s.Name, g.ID, "another process has it, with another code")
	case g.Start != p.Start && (g.Incarnation > 0 && g.Incarnation < p.Incarnation || g.Start == p.Before):
		return s, fenced(s.Cluster, s.Name, p, g.Incarnation)
	}
	given := max(p.Incarnation, s.Removed)
	if g.Incarnation > given+maxLost {
		return s, refusedf("number %d of %s/%s: incarnation %d is more than %d above %d, the greatest that the grid has "+
			"issued; register without it", g.ID, s.Cluster, s.Name, g.Incarnation, maxLost, given)
	}
	p.Incarnation = max(p.Incarnation, g.Incarnation)
	if g.Start != p.Start {
		if p.Incarnation = max(p.Incarnation, s.Removed) + 1; p.Incarnation >= MaxNumber {
			return s, refusedf("number %d of %s/%s has used all its incarnations, up to %d; use another set", g.ID, s.Cluster,
				s.Name, uint64(MaxNumber)-1)
		}
		p.Start, p.Before = g.Start, p.Start
	}
	p.Code, p.Member = g.Code, g.Member
	if g.Addr != "" {
		p.Addr = g.Addr
	}
	if p == s.Members[at] { // a sign of life
		return s, nil
	}
	s.Members = slices.Clone(s.Members)
	s.Members[at] = p
	return s, nil
}

func (s Set) clean(removed []Cleaned) (Set, error) {
	for _, c := range removed {
		if p, found := s.Process(c.ID); found && p.Incarnation != c.Incarnation {
			return s, fmt.Errorf("%w: number %d of %s/%s has incarnation %d, not %d", errChanged, c.ID, s.Cluster, s.Name,
				p.Incarnation, c.Incarnation)
		}
	}
	s.Members = slices.DeleteFunc(slices.Clone(s.Members), func(p Process) bool {
		gone := slices.ContainsFunc(removed, func(c Cleaned) bool { return c.ID == p.ID })
		if gone {
			s.Removed = max(s.Removed, p.Incarnation)
		}
		return gone
	})
	return s, nil
}

func (s Set) restore(in Imported) (Set, error) {
	s.Members = slices.Clone(s.Members)
	s.raise(in.Next, in.Incarnation)
	for _, a := range in.Numbers {
		s.Next = max(s.Next, a.ID+1)
		at, found := searchProcess(s.Members, a.ID)
		switch {
		case !found:
			s.Members = slices.Insert(s.Members, at, Process{ID: a.ID, Code: a.Code, Addr: a.Addr})
		case s.Members[at].Code.IsZero():
			s.Members[at].Code = a.Code
		case !a.Code.IsZero() && s.Members[at].Code != a.Code:
			return s, refusedf("number %d of %s/%s belongs to a process with another code; nothing was imported", a.ID,
				s.Cluster,
				s.Name)
		}
	}
	return s, nil
}

func notRegistered(cluster, name string, id uint64, reason string) error {
	return fmt.Errorf("%w: number %d of %s/%s: %s; if the grid's data was lost, run `snowgrid identity import`; if the "+
		"process is to start with a new number, remove its files", ErrNotRegistered, id, cluster, name, reason)
}

func fenced(cluster, name string, p Process, incarnation uint64) error {
	return fmt.Errorf("%w: number %d of %s/%s has incarnation %d at %q, and this process has %d; stop it: its directory "+
		"was copied, or it was replaced",
		ErrFenced, p.ID, cluster, name, p.Incarnation, p.Addr, incarnation)
}
