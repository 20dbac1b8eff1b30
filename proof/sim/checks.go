package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Checks for rules other than unique IDs. They do not use the code under test. A prefix such as R1
// is the number of the rule.

// checkRoster requires that a committed roster follows from the previous one.
func (g *grid) checkRoster(before, next *roster.Roster, raise bool) error {
	if next.Time < before.Time || next.Ceiling < before.Ceiling {
		return fmt.Errorf("R1: time and ceiling go back from %d, %d to %d, %d", before.Time, before.Ceiling, next.Time,
			next.Ceiling)
	}
	if raise {
		return nil
	}
	members := map[roster.MemberID]roster.Incarnation{}
	for _, m := range next.Members {
		id := m.Incarnation.Member()
		if twin, found := members[id]; found {
			return fmt.Errorf("R8: %s and %s are both in the roster", twin, m.Incarnation)
		}
		members[id] = m.Incarnation
	}
	for id, p := range next.Partitions {
		if err := checkPartition(before, next.Version, before.Partitions[id], p); err != nil {
			return fmt.Errorf("partition %d: %w", id, err)
		}
		for _, i := range p.InSync {
			if members[i.Member()] != i {
				return fmt.Errorf("R8: partition %d: %s is in sync and no member", id, i)
			}
		}
	}
	return nil
}

// checkPartition requires that a partition's state follows from the previous one.
func checkPartition(before *roster.Roster, version roster.Version, was, p roster.Partition) error {
	switch {
	case p.Owner != "" && !slices.Contains(p.InSync, p.Owner):
		return fmt.Errorf("R4: its owner %s is not in its in-sync set %v", p.Owner, p.InSync)
	case p.Owner == was.Owner && p.Term == was.Term:
		return nil
	case p.Term != roster.Term(version):
		return fmt.Errorf("R2: it is %s's with term %d at version %d", p.Owner, p.Term, version)
	case was.Owner == "" && was.LostTerm > 0: // between a reset and the first owner there are no grants (A5)
		if p.Floor < was.Floor || p.LostTerm != p.Term {
			return fmt.Errorf("A5: its floor is %d, and was %d after the reset; term %d, lost %d", p.Floor, was.Floor, p.Term,
				p.LostTerm)
		}
	case p.Floor < before.Ceiling && before.Stopped == 0:
		return fmt.Errorf("R2: its floor is %d and the ceiling was %d", p.Floor, before.Ceiling)
	case p.LostTerm != p.Term && !slices.Contains(was.InSync, p.Owner):
		return fmt.Errorf("R2: %s takes it, which was not in sync: %v", p.Owner, was.InSync)
	}
	return nil
}

// aheadMax is the largest permitted lead of cluster time over the truth: a jump that is followed
// immediately, plus the error of a fast clock.
const aheadMax = clustertime.JumpLimit + 60_000

// checkTime requires that cluster time does not jump soon after the first clock step: clocks have
// to agree on a jump for JumpAgreement, measured by a leader's clock that may run more than twice
// too fast. (Later, a leader that was paused may mistake two clocks, one after the other, for one
// that agrees.)
func (g *grid) checkTime(before, next clustertime.Tick) error {
	jump := next.Sub(before)
	switch since := g.w.now - g.stepped; {
	case before == 0, jump <= aheadMax, g.stepped == 0, since > clustertime.JumpAgreement/3:
		return nil // at a start no time can jump
	default:
		return fmt.Errorf("R1: cluster time jumps by %v, %v after the first clock was stepped", jump.Duration(), since)
	}
}

// checkEnded requires that a process is informed about a life's end only after a user requested it.
// After a loss, a later life may replace an earlier life of the same name.
func (g *grid) checkEnded(who string, of attachment.Ref) error {
	if g.promises.doomed[of.Life] || g.forgotten(of) {
		return nil
	}
	return fmt.Errorf("O6: %s was told that its life of %q has ended, and no user asked for that", who,
		of.Definition.Name())
}

// gone is a life's end, as first reported to a holder.
type gone struct {
	at      time.Duration
	version roster.Version // the reply's version
}

// checkAlive rejects a grant from an owner that, at the time of the request, had the version at
// which the life had ended. (A replaced owner without replicas may lack it.) After a loss, a process
// that was not informed about the end may restore the life.
func (g *grid) checkAlive(who string, of attachment.Ref, asked time.Duration, s stamp) error {
	end, found := g.promises.gone[of.Life]
	if !found || asked < end.at || s.Version < end.version || g.forgotten(of) {
		return nil
	}
	return fmt.Errorf("O6: %s was granted a logical node of a life of %q at %v, which had ended by %v",
		who, of.Definition.Name(), asked, end.at)
}

// forgotten reports whether a loss has erased a life since it began.
func (g *grid) forgotten(of attachment.Ref) bool {
	lost := g.lost[roster.PartitionOf(of.Definition.Name(), g.cfg.Partitions)]
	return g.madeIn[of.Life] < g.forgetful() || lost > roster.Version(of.Born.Term)
}

// checkAdmitted requires that a replica entering the in-sync set has all changes that its owner had
// made when the replica began to join (R5).
func (g *grid) checkAdmitted(id roster.PartitionID, replica roster.Incarnation) error {
	m, least := g.members[replica], g.began[id]
	o := m.actors[id]
	if !m.alive || o == nil {
		return nil
	}
	if has := o.machine.Position(); has.Compare(least) < 0 {
		return fmt.Errorf("R5: %s comes into sync of partition %d with %v, and its owner was at %v when it began to join",
			replica, id, has, least)
	}
	return nil
}

// checkDiscarded requires that only replicas keep a partition's table from an earlier term (B2). A
// table from the current term may have arrived late.
func (g *grid) checkDiscarded(r *roster.Roster) error {
	for _, m := range g.running() {
		for id, o := range m.actors {
			if p, has := r.Partitions[id], o.machine.Position(); !p.Keeps(m.inc) && has.Term > 0 && has.Term < p.Term {
				return fmt.Errorf("B2: %s keeps the table of partition %d without being a replica", m.inc, id)
			}
		}
	}
	return nil
}

// checkAhead requires that an ID's timestamp is not ahead of its holder's cluster time (H3).
func (e *entry) checkAhead(now clustertime.Tick, last sequencer.ID) error {
	if at := clustertime.TickOf(e.def.Decompose(last).Time); at > now {
		return fmt.Errorf("H3: handle %s made an ID for %d at cluster time %d", e.label, at, now)
	}
	return nil
}
