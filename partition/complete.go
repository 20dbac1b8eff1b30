package partition

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/sequencer"
)

// A table is complete if it knows every name that was ever answered for: it began
// where no disk held more, or it was collected from a disk that did. Until then it
// knows only what holders have shown.

// Complete reports whether the table knows every definition and every tombstone.
func (t *Table) Complete() bool { return t.complete }

// CompleteAlone makes the table complete as it is, because no disk is left that could
// know more. It reports whether it was not before.
func (t *Table) CompleteAlone() bool {
	was := t.complete
	t.complete = true
	return !was
}

// Collect takes the definitions of a disk in place of the table's own and makes it
// complete (D6). A life that a holder has shown meanwhile stays, with its logical
// nodes, only if the disk has that very life alive. It returns the other shown lives,
// which have ended, sorted by name. The grants of their holders still count: a later
// life of the name begins above them.
func (t *Table) Collect(d Definitions) (ended []sequencer.Ref) {
	shown := t.records
	t.census = census{}
	t.records = make(map[string]*record, len(d.Records))
	t.base = max(t.base, d.Base)
	for _, stored := range d.Records {
		name := stored.Ref.Definition.Name()
		r := shown[name]
		if r != nil && !r.destroyed && !stored.Destroyed && r.ref.Life == stored.Ref.Life && r.ref.Definition == stored.Ref.Definition {
			r.ref, r.free, r.adopted = stored.Ref, max(r.free, t.base), false
			t.records[name] = r
			delete(shown, name)
			continue
		}
		t.records[name] = &record{ref: stored.Ref, destroyed: stored.Destroyed, mark: stored.Mark, free: t.base}
	}
	for name, r := range shown {
		if !r.destroyed {
			ended = append(ended, r.ref)
			t.end(r)
		}
		switch now := t.records[name]; {
		case now == nil:
			t.records[name] = r
		case now.destroyed:
			now.mark = max(now.mark, r.mark)
		default:
			now.free = max(now.free, r.mark)
		}
	}
	for _, r := range t.records {
		if r.destroyed {
			t.folds = min(t.folds, r.mark)
		}
	}
	t.complete, t.touched, t.disk = true, nil, unstored{}
	slices.SortFunc(ended, func(a, b sequencer.Ref) int { return cmp.Compare(a.Definition.Name(), b.Definition.Name()) })
	return ended
}
