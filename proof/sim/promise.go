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

// promises are the promises of a grid.
type promises struct {
	g      *grid
	byName map[string]promise
	voided map[roster.PartitionID]time.Duration // time at which a partition's last disk was lost
	// copied are the versions at which a copy took the place of a partition's disk. The original, if it still runs,
	// answers at earlier ones, and the copy lacks what that writes.
	copied map[roster.PartitionID]roster.Version
	doomed map[attachment.Life]bool // lives with a requested end
	gone   map[attachment.Life]gone // lives with a reported end
}

func newPromises(g *grid) promises {
	return promises{g: g, byName: map[string]promise{}, voided: map[roster.PartitionID]time.Duration{},
		copied: map[roster.PartitionID]roster.Version{}, doomed: map[attachment.Life]bool{}, gone: map[attachment.Life]gone{}}
}

// promised returns the promise that binds a request started at began.
func (ps *promises) promised(name string, began time.Duration) (promise, bool) {
	p := ps.byName[name]
	return p, p.at > 0 && p.at <= began
}

// void drops the promises about a partition's names, because the grid has lost them.
func (ps *promises) void(id roster.PartitionID) {
	ps.voided[id] = ps.g.w.now
	for _, def := range ps.g.names {
		if roster.PartitionOf(def.Name(), ps.g.cfg.Partitions) == id {
			delete(ps.byName, def.Name())
		}
	}
}

// sawDisks checks the disks named by a roster change, and voids promises if no disk remains for
// them.
func (ps *promises) sawDisks(before, next *roster.Roster, c roster.Command) {
	var forgotten []roster.MemberID
	if c.Change != nil {
		forgotten = c.Change.Forget
	}
	for at, p := range next.Partitions {
		was := before.Partitions[at]
		ps.g.check(checkNamed(next, was, p, forgotten))
		if p.LostTerm > was.LostTerm && len(p.Disk) == 0 || len(p.Disk) == 0 && len(was.Disk) > 0 {
			ps.void(roster.PartitionID(at))
		}
		if slices.ContainsFunc(p.Disk, func(id roster.MemberID) bool { // by a report about the disk before
			return !slices.Contains(was.Disk, id) && ps.g.rolledBack(id, p.InSync)
		}) {
			ps.void(roster.PartitionID(at))
		}
	}
	ps.g.check(ps.checkOnDisks())
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
func (ps *promises) checkOnDisks() error {
	r := ps.g.agreed.newest()
	for _, def := range ps.g.names {
		name := def.Name()
		id := roster.PartitionOf(name, ps.g.cfg.Partitions)
		for _, s := range ps.g.seats {
			p := ps.byName[name]
			if p.at == 0 || ps.g.stale(s) || !slices.Contains(r.Partitions[id].Disk, s.id) {
				continue
			}
			if has, alive := s.stored(id, name); alive && !ps.knows(has, p) {
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
func (ps *promises) knows(has partition.DefinitionRecord, p promise) bool {
	known := !has.Ref.Life.IsZero()
	same := has.Ref.Life == p.ref.Life
	switch {
	case !ps.doomed[p.ref.Life]:
		return same && !has.Destroyed
	case p.destroyed && same:
		return has.Destroyed
	}
	// Its tombstone may have been dropped, and an earlier life that a holder presented after a loss
	// has ended in its place.
	return !known || has.Destroyed || ps.g.compareBirths(has.Ref, p.ref) >= 0
}

// keeps reports whether a reply is backed by disks, for a request started at began: the roster at
// the reply's version names a disk, and the grid has not lost all disks since, nor taken a copy for one.
func (ps *promises) keeps(name string, began time.Duration, s stamp) bool {
	id := roster.PartitionOf(name, ps.g.cfg.Partitions)
	log := ps.g.agreed.log[ps.g.agreed.first:]
	at, _ := slices.BinarySearchFunc(log, s.Version,
		func(l logged, v roster.Version) int { return cmp.Compare(l.roster.Version, v) })
	return began > ps.voided[id] && s.Version >= ps.copied[id] && at < len(log) && log[at].roster.Identity() == s.Grid &&
		len(log[at].roster.Partitions[id].Disk) > 0
}

// checkTold requires that the reply to a create or an open agrees with every promise made before
// the request, and records the reply as a promise.
func (ps *promises) checkTold(ref attachment.Ref, began time.Duration, s stamp) error {
	name := ref.Definition.Name()
	if !ps.keeps(name, began, s) {
		return nil
	}
	p, known := ps.promised(name, began)
	if known {
		switch newer := ps.g.compareBirths(ref, p.ref); {
		case newer < 0:
			return fmt.Errorf("D2: %q is life %v, and life %v was answered %v before that was asked", name, ref.Life, p.ref.Life,
				began-p.at)
		case newer == 0 && ref.Life != p.ref.Life:
			return fmt.Errorf("D2: %q has two lives born at %v", name, ref.Born)
		case newer > 0 && !ps.doomed[p.ref.Life]:
			return fmt.Errorf("D2: %q is life %v, and life %v was answered %v before and never ended", name, ref.Life,
				p.ref.Life, began-p.at)
		case newer == 0 && p.destroyed && p.ended <= began:
			return fmt.Errorf("D2: %q is life %v, whose end was answered %v before", name, ref.Life, began-p.ended)
		}
	}
	if now := ps.byName[name]; now.at == 0 || ps.g.compareBirths(ref, now.ref) > 0 {
		ps.byName[name] = promise{ref: ref, at: ps.g.w.now}
		return ps.checkOnDisks()
	}
	return nil
}

// checkUnknown requires that a promised name exists until a user requests its end.
func (ps *promises) checkUnknown(name string, began time.Duration, s stamp) error {
	if p, known := ps.promised(name, began); known && ps.keeps(name, began, s) && !ps.doomed[p.ref.Life] {
		return fmt.Errorf("D2: %q is unknown, and life %v was answered %v before and never ended", name, p.ref.Life,
			began-p.at)
	}
	return nil
}

// toldEnded records the reported end of a life as a promise, for a request started at began.
func (ps *promises) toldEnded(ref attachment.Ref, began time.Duration, s stamp) {
	name := ref.Definition.Name()
	if p := ps.byName[name]; p.at > 0 && p.ref.Life == ref.Life && ps.keeps(name, began, s) {
		p.destroyed, p.ended = true, ps.g.w.now
		ps.byName[name] = p
		ps.g.check(ps.checkOnDisks())
	}
}
