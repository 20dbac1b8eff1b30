package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// promise is the newest life of a name that was reported to a holder. While some disk has all
// definitions (and the partition was not lost without one), every later reply has to agree with it:
// a successful create is not lost, and a destroy is not undone.
type promise struct {
	ref       attachment.Ref
	at        time.Duration // when the reply arrived
	destroyed bool          // its end was reported
	ended     time.Duration // ... when
}

// promised returns the promise that binds a request started at began.
func (g *grid) promised(name string, began time.Duration) (promise, bool) {
	p := g.promises[name]
	return p, p.at > 0 && p.at <= began
}

// void drops the promises about a partition's names, because the grid has lost them.
func (g *grid) void(id roster.PartitionID) {
	g.voided[id] = g.w.now
	for _, def := range g.names {
		if roster.PartitionOf(def.Name(), g.cfg.Partitions) == id {
			delete(g.promises, def.Name())
		}
	}
}

// sawDisks checks the disks named by a roster change, and voids promises if no disk remains for
// them.
func (g *grid) sawDisks(before, next *roster.Roster, c roster.Command) {
	var forgotten []roster.MemberID
	if c.Change != nil {
		forgotten = c.Change.Forget
	}
	for at, p := range next.Partitions {
		was := before.Partitions[at]
		g.check(checkNamed(next, was, p, forgotten))
		if p.LostTerm > was.LostTerm && len(p.Disk) == 0 || len(p.Disk) == 0 && len(was.Disk) > 0 {
			g.void(roster.PartitionID(at))
		}
	}
	g.check(g.checkOnDisks())
}

// checkNamed requires a reason to remove a disk from the named ones: an operator gave it up, or its
// member left the in-sync set and other good disks remain (D3, D10).
func checkNamed(next *roster.Roster, was, p roster.Partition, forgotten []roster.MemberID) error {
	for _, m := range was.Disk {
		inSync := slices.ContainsFunc(p.InSync, func(i roster.Incarnation) bool {
			return i.Member() == m &&
				slices.Contains(was.InSync, i)
		})
		switch gone := !slices.Contains(p.Disk, m); {
		case gone && slices.Contains(forgotten, m) && next.Has(m):
			return fmt.Errorf("D10: the disk of member %s was given up", m)
		case !gone, slices.Contains(forgotten, m):
		case p.LostTerm > was.LostTerm:
			return fmt.Errorf("D3: a loss took the disk of %s, of %v", m, was.Disk)
		case inSync && !was.Memory: // a voter keeps definitions while it has a vote
			return fmt.Errorf("D3: the disk of %s, which is in sync, is named no longer", m)
		case len(p.Disk) == 0:
			return fmt.Errorf("D3: no disk is named any longer, of %v", was.Disk)
		}
	}
	return nil
}

// checkOnDisks requires that each named disk, or voter, has all promised definitions: after a loss,
// it may be the only one left (D2 to D4).
func (g *grid) checkOnDisks() error {
	r := g.agreed.newest()
	for _, def := range g.names {
		name := def.Name()
		id := roster.PartitionOf(name, g.cfg.Partitions)
		for _, s := range g.seats {
			p := g.promises[name]
			if p.at == 0 || g.stale(s) || !slices.Contains(r.Partitions[id].Disk, s.id) {
				continue
			}
			if has, alive := s.stored(id, name); alive && !g.knows(has, p) {
				return fmt.Errorf("D4: seat %d is named for partition %d, and of %q it has %+v after %+v was answered", s.place, id,
					name, has, p)
			}
		}
	}
	return nil
}

// stored returns a name's record on a disk or in a voter's memory, and false if the process has
// ended and its memory is lost.
func (s *seat) stored(id roster.PartitionID, name string) (has partition.DefinitionRecord, alive bool) {
	if s.durable {
		return s.disk[id][name], true
	}
	if s.running == nil {
		return has, false
	}
	d, _ := s.running.actorOf(id).machine.Kept()
	for _, r := range d.Records {
		if r.Ref.Definition.Name() == name {
			return r, true
		}
	}
	return has, true
}

// knows reports whether a name's record on a disk is as new as a promise.
func (g *grid) knows(has partition.DefinitionRecord, p promise) bool {
	known := !has.Ref.Life.IsZero()
	same := has.Ref.Life == p.ref.Life
	switch {
	case !g.doomed[p.ref.Life]:
		return same && !has.Destroyed
	case p.destroyed && same:
		return has.Destroyed
	}
	// Its tombstone may have been dropped, and an earlier life that a holder presented after a loss
	// has ended in its place.
	return !known || has.Destroyed || g.compareBirths(has.Ref, p.ref) >= 0
}

// keeps reports whether a reply is backed by disks, for a request started at began: the roster at
// the reply's version names a disk, and the grid has not lost all disks since.
func (g *grid) keeps(name string, began time.Duration, s stamp) bool {
	id := roster.PartitionOf(name, g.cfg.Partitions)
	log := g.agreed.log[g.agreed.first:]
	at, _ := slices.BinarySearchFunc(log, s.Version,
		func(l logged, v roster.Version) int { return cmp.Compare(l.roster.Version, v) })
	return began > g.voided[id] && at < len(log) && log[at].roster.Identity() == s.Grid &&
		len(log[at].roster.Partitions[id].Disk) > 0
}

// checkTold requires that the reply to a create or an open agrees with every promise made before
// the request, and records the reply as a promise.
func (g *grid) checkTold(ref attachment.Ref, began time.Duration, s stamp) error {
	name := ref.Definition.Name()
	if !g.keeps(name, began, s) {
		return nil
	}
	p, known := g.promised(name, began)
	if known {
		switch newer := g.compareBirths(ref, p.ref); {
		case newer < 0:
			return fmt.Errorf("D2: %q is life %v, and life %v was answered %v before that was asked", name, ref.Life, p.ref.Life,
				began-p.at)
		case newer == 0 && ref.Life != p.ref.Life:
			return fmt.Errorf("D2: %q has two lives born at %v", name, ref.Born)
		case newer > 0 && !g.doomed[p.ref.Life]:
			return fmt.Errorf("D2: %q is life %v, and life %v was answered %v before and never ended", name, ref.Life,
				p.ref.Life, began-p.at)
		case newer == 0 && p.destroyed && p.ended <= began:
			return fmt.Errorf("D2: %q is life %v, whose end was answered %v before", name, ref.Life, began-p.ended)
		}
	}
	if now := g.promises[name]; now.at == 0 || g.compareBirths(ref, now.ref) > 0 {
		g.promises[name] = promise{ref: ref, at: g.w.now}
		return g.checkOnDisks()
	}
	return nil
}

// checkUnknown requires that a promised name exists until a user requests its end.
func (g *grid) checkUnknown(name string, began time.Duration, s stamp) error {
	if p, known := g.promised(name, began); known && g.keeps(name, began, s) && !g.doomed[p.ref.Life] {
		return fmt.Errorf("D2: %q is unknown, and life %v was answered %v before and never ended", name, p.ref.Life,
			began-p.at)
	}
	return nil
}

// toldEnded records the reported end of a life as a promise, for a request started at began.
func (g *grid) toldEnded(ref attachment.Ref, began time.Duration, s stamp) {
	name := ref.Definition.Name()
	if p := g.promises[name]; p.at > 0 && p.ref.Life == ref.Life && g.keeps(name, began, s) {
		p.destroyed, p.ended = true, g.w.now
		g.promises[name] = p
		g.check(g.checkOnDisks())
	}
}
