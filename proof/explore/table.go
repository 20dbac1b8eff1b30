package explore

import (
	"slices"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// table is the real logical-node table, and where a weakness says so a weaker one:
// what the real one did is bent afterwards, or what it is about to see before.
type table struct {
	*partition.Table
	weak   Weakness
	byName bool // its owner was the owner before, by name
}

func (t *table) TakeOffice(floor clustertime.Tick, lost, complete bool) {
	switch {
	case t.weak == OwnerByName && t.byName:
		return
	case t.weak == AssignedNotRaised && !lost:
		floor = 0
	}
	t.Table.TakeOffice(floor, lost, complete)
}

func (t *table) Attach(c partition.Claim, b partition.Bounds) (sequencer.Attachment, bool, error) {
	if t.weak == FromIgnoresFree {
		t.forgetFree()
	}
	a, changed, err := t.Table.Attach(c, b)
	t.bend(a, b, err)
	return a, changed, err
}

// Renew is the real one; shown is where the holder says that its grant begins.
func (t *table) Renew(c partition.Claim, b partition.Bounds, shown clustertime.Tick) (sequencer.Attachment, bool, error) {
	known := t.holds(c.ID)
	if t.weak == AnotherNodeRenewed && known != nil {
		c.Node = known.Node
	}
	if t.weak == AdoptionIgnoresFree && known == nil {
		t.forgetFree()
	}
	replaced := t.weak == LaterLifeAtZero && t.replaces(c)
	a, changed, err := t.Table.Renew(c, b)
	changed = changed || replaced
	if err == nil && t.weak == AdoptionFillsGap && known == nil {
		t.edit(func(r *partition.RecordState, s *partition.SlotState) {
			if s != nil && s.ID == c.ID {
				s.From, a.Grant.From = shown, shown
			}
		})
	}
	t.bend(a, b, err)
	return a, changed, err
}

// replaces lets a claim of a later life take the place of the life there is, as if
// that had been granted nothing.
func (t *table) replaces(c partition.Claim) bool {
	before, err := t.Open(name)
	if err != nil {
		return false
	}
	if _, err := t.Known(c); err != nil {
		return false
	}
	if now, _ := t.Open(name); now.Life == before.Life {
		return false
	}
	t.forgetFree()
	return true
}

// bend lets free fall to the end of the grant just made, for FreeMayFall.
func (t *table) bend(a sequencer.Attachment, b partition.Bounds, err error) {
	if t.weak != FreeMayFall || err != nil {
		return
	}
	t.edit(func(_ *partition.RecordState, s *partition.SlotState) {
		if s != nil && s.ID == a.ID {
			s.Free = b.Ceiling
		}
	})
}

func (t *table) Detach(ref sequencer.Ref, rel sequencer.Release) bool {
	done := t.Table.Detach(ref, rel)
	if done && t.weak == DetachBelowFrom {
		t.edit(func(_ *partition.RecordState, s *partition.SlotState) {
			if s != nil && s.Node == rel.Node {
				s.Free = rel.LastUsed + 1
			}
		})
	}
	return done
}

func (t *table) Expire(node sequencer.NodeID, id sequencer.AttachmentID, until clustertime.Tick) bool {
	if t.weak == SetNotCounted {
		until = 0
	}
	return t.Table.Expire(name, node, id, until)
}

func (t *table) Create(ref sequencer.Ref, now clustertime.Tick) (sequencer.Ref, bool, error) {
	_, err := t.Open(name)
	begins := err != nil
	got, changed, err := t.Table.Create(ref, now)
	if begins && err == nil && t.weak == RecreatedAtZero {
		t.edit(func(r *partition.RecordState, _ *partition.SlotState) { r.Free = 0 })
	}
	return got, changed, err
}

func (t *table) Destroy(ref sequencer.Ref) error {
	before := t.Snapshot()
	err := t.Table.Destroy(ref)
	if err != nil || t.weak != MarkOfAttachedOnly {
		return err
	}
	t.edit(func(r *partition.RecordState, _ *partition.SlotState) {
		r.Mark = before.Records[0].Free
		for _, s := range before.Records[0].Slots {
			if !s.ID.IsZero() {
				r.Mark = max(r.Mark, s.Free)
			}
		}
	})
	return nil
}

func (t *table) Fold(now clustertime.Tick) bool {
	base := t.Snapshot().Base
	folded := t.Table.Fold(now)
	if folded && t.weak == FoldForgetsMark {
		t.Apply(partition.TableChange{Base: base})
	}
	return folded
}

// forgetFree takes every unassigned node for never granted.
func (t *table) forgetFree() {
	t.edit(func(r *partition.RecordState, s *partition.SlotState) {
		switch {
		case s == nil:
			r.Free = 0
		case s.ID.IsZero():
			s.Free = 0
		}
	})
}

// holds returns the slot that an attachment is recorded on.
func (t *table) holds(id sequencer.AttachmentID) *partition.SlotState {
	for _, r := range t.Snapshot().Records {
		if i := slices.IndexFunc(r.Slots, func(s partition.SlotState) bool { return s.ID == id }); i >= 0 {
			return &r.Slots[i]
		}
	}
	return nil
}

// edit changes records and their slots behind the table's back: f is called for
// each record with no slot, then for each of its slots.
func (t *table) edit(f func(r *partition.RecordState, s *partition.SlotState)) {
	state := t.Snapshot()
	for i := range state.Records {
		r := &state.Records[i]
		f(r, nil)
		for j := range r.Slots {
			f(r, &r.Slots[j])
		}
	}
	t.Apply(partition.TableChange{Base: state.Base, Records: state.Records})
}
