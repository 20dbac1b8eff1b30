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

// promise is the newest life of a name that a holder was told of. While some disk has
// everything (and the partition was not lost without one) every later answer has to know
// it: a create that was answered is not forgotten, and a destroy is not undone.
type promise struct {
	ref       attachment.Ref
	at        time.Duration // when it was answered
	destroyed bool          // its end was answered
	ended     time.Duration // ... and when
}

// promised returns the promise that a request which began at some time has to keep.
func (g *grid) promised(name string, began time.Duration) (promise, bool) {
	p := g.promises[name]
	return p, p.at > 0 && p.at <= began
}

// void forgets the promises about a partition's names, as the whole grid did.
func (g *grid) void(id roster.PartitionID) {
	g.voided[id] = g.w.now
	for _, def := range g.names {
		if roster.PartitionOf(def.Name(), g.cfg.Partitions) == id {
			delete(g.promises, def.Name())
		}
	}
}

// sawDisks judges whose disks a command names, and voids promises where no disk is left
// that could keep them.
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

// checkNamed wants disks to be named no longer for a reason: an operator gave them up, or
// their members are in sync no longer and others that are good stay (D3, D10).
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

// checkOnDisks requires that each named disk, or voter, knows every answer: after a loss any
// one of them is all that is left (D2 to D4).
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

// stored returns what a disk or the memory of a voter has of a name, and false if its process
// has ended with its memory.
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

// knows reports whether the record of a name on a disk is as new as a promise.
func (g *grid) knows(has partition.DefinitionRecord, p promise) bool {
	known := !has.Ref.Life.IsZero()
	same := has.Ref.Life == p.ref.Life
	switch {
	case !g.doomed[p.ref.Life]:
		return same && !has.Destroyed
	case p.destroyed && same:
		return has.Destroyed
	}
	// Its tombstone may have been dropped, and an earlier life that a holder showed after a
	// loss ended in its place.
	return !known || has.Destroyed || g.compareBirths(has.Ref, p.ref) >= 0
}

// keeps reports whether the answer to a request that began at some time rests on disks:
// one was named at its version, and not all were given up since.
func (g *grid) keeps(name string, began time.Duration, s stamp) bool {
	id := roster.PartitionOf(name, g.cfg.Partitions)
	log := g.agreed.log[g.agreed.first:]
	at, _ := slices.BinarySearchFunc(log, s.Version,
		func(l logged, v roster.Version) int { return cmp.Compare(l.roster.Version, v) })
	return began > g.voided[id] && at < len(log) && log[at].roster.Identity() == s.Grid &&
		len(log[at].roster.Partitions[id].Disk) > 0
}

// checkTold wants the answer to a create or an open that began at some time to know
// every life that was answered before, and keeps what it says.
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

// checkUnknown requires that a name which was answered is known until a user asks for its
// end.
func (g *grid) checkUnknown(name string, began time.Duration, s stamp) error {
	if p, known := g.promised(name, began); known && g.keeps(name, began, s) && !g.doomed[p.ref.Life] {
		return fmt.Errorf("D2: %q is unknown, and life %v was answered %v before and never ended", name, p.ref.Life,
			began-p.at)
	}
	return nil
}

// toldEnded keeps that the end of a life was answered to a request that began at some time.
func (g *grid) toldEnded(ref attachment.Ref, began time.Duration, s stamp) {
	name := ref.Definition.Name()
	if p := g.promises[name]; p.at > 0 && p.ref.Life == ref.Life && g.keeps(name, began, s) {
		p.destroyed, p.ended = true, g.w.now
		g.promises[name] = p
		g.check(g.checkOnDisks())
	}
}
