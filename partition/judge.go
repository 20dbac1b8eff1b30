package partition

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// judge returns a claim with the owner's trust in it, or rejects a claim that cannot be served: from
// another run of the grid with a grant beyond the floor, with a roster version later than this
// owner's, for a released attachment, or about a name that this owner may not have learned yet. A
// credible grant beyond the floor makes the leader raise the floors (S2).
func (m *Machine) judge(v View, c Claim) (Claim, error) {
	name, own, run := c.Ref.Definition.Name(), c.Grid == v.Roster.Identity(), covered
	if !own {
		floor, now := v.Roster.Partitions[m.id].Floor, v.Bounds().Now
		if c.Until > floor && now == 0 {
			return c, errNoTime // the credible limit is unknown
		}
		run = judgeEarlier(v.Roster, floor, now, c.Until)
		if run == believed {
			m.member.ReportEarlier(c.Until)
		}
		if err := run.check(v, c); err != nil {
			return c, err
		}
	}
	if own && c.Version > v.Roster.Version {
		// A replaced owner without replicas cannot detect its replacement. It would mistake a life
		// created by its successor for one that has ended.
		return c, failure.Errorf(sequencer.ErrUnavailable,
			"sequencer %q: the holder has seen roster version %d, this member %d; retry; if it stays, the grid was started "+
				"from older data: start the holder's process again",
			name, c.Version, v.Roster.Version)
	}
	life := m.table.lifeOf(name)
	c.Trust = m.trust(v, c, run)
	switch {
	case life == c.Ref.Life:
		if _, gone := m.released[c.ID]; gone {
			return c, failure.Errorf(ErrReleased, "sequencer %q: the attachment was given back; attach again", name)
		}
		return c, nil
	case v.ofLaterClaim(c):
		return c, failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: the holder was answered under another anchor "+
			"claim, and this member has received no ceiling raise recently; retry",
			name)
	case !m.table.Complete() && life.IsZero() && !c.Forgotten: // it may not have learned of the name yet
		return c, failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: %s", name, m.collection.awaits())
	}
	return c, nil
}

// trust returns the trust in a claim, given the judgement on its run. The claim may be
// about a life that the grid forgot in a loss. The end of a contained grant keeps its logical node
// for it; a claim without a node needs none.
func (m *Machine) trust(v View, c Claim, run earlier) Trust {
	lost, own := roster.Version(v.Roster.Partitions[m.id].LostTerm), c.Grid == v.Roster.Identity()
	t := Trust{
		Forgotten: m.learner.mayRecreate(v) && (!own || c.Version < lost) ||
			!own && (m.replica.InMemory() || v.recoveredWithout(m.id)) && v.neverHeard(c),
		Before: own && roster.Version(c.Ref.Born.Term) < lost,
	}
	if run == contained && !c.Any && !c.ID.IsZero() {
		t.Shown = c.Until
	}
	return t
}

// recoveredWithout reports whether the grid was recovered without the partition's definitions: those on the disks
// that it names since then began with this grid.
func (v View) recoveredWithout(id roster.PartitionID) bool {
	r := v.Roster.Recovered
	return r != nil && slices.Contains(r.Forgotten, id)
}

// neverHeard reports whether a claim from an earlier grid names a sequencer that this
// grid may never have had: its voters' memory, or its definitions, began with it. Once an anchored grid has been reset,
// a holder under another anchor claim may belong to this grid, where the name has ended. Then only
// a grant that ended before the grid began is from another one, and a handle has none at first.
func (v View) neverHeard(c Claim) bool {
	return v.Roster.Claim == "" || !v.Roster.Restarted || c.Until > 0 && c.Until < v.Roster.Began
}
