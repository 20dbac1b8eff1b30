package partition

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/attachment"
)

// A table is complete if it has every name for which a reply was ever sent: it began where no disk
// had more, or it was collected from a disk that did. Until then it has only the names from
// holders' claims.

// Complete reports whether the table has every definition and every tombstone.
func (t *Table) Complete() bool { return t.complete }

// Collect replaces the table's definitions by a disk's and makes the table complete (D6). A life
// that a holder has presented in the meantime stays, with its logical nodes, only if the disk has
// that very life alive. Collect returns the other presented lives, which have ended, sorted by
// name. Their holders' grants still count: a later life of the name begins above them, and its definition
// is compared with the one of the two lives that has the larger IDs.
func (t *Table) Collect(d Definitions) (ended []attachment.Ref) {
	shown := t.records
	t.census = census{}
	t.records = make(map[string]*record, len(d.Records))
	t.base = max(t.base, d.Base)
	for _, stored := range d.Records {
		name := stored.Ref.Definition.Name()
		r := shown[name]
		if r != nil && !r.Destroyed && !stored.Destroyed &&
			r.Ref.Life == stored.Ref.Life && r.Ref.Definition == stored.Ref.Definition {
			r.Ref, r.Free, r.Adopted = stored.Ref, max(r.Free, t.base), false
			t.records[name] = r
			delete(shown, name)
			continue
		}
		t.records[name] = &record{RecordState: RecordState{Ref: stored.Ref, Destroyed: stored.Destroyed, Mark: stored.Mark,
			Free: t.base}}
	}
	for name, r := range shown {
		if !r.Destroyed {
			ended = append(ended, r.Ref)
			t.end(r)
		}
		switch now := t.records[name]; {
		case now == nil:
			t.records[name] = r
		case now.Destroyed:
			now.Mark = max(now.Mark, r.Mark)
			last := (now.Mark - 1).Time()
			if r.Ref.Definition.MaxID(last) > now.Ref.Definition.MaxID(last) {
				now.Ref = r.Ref
			}
		default:
			now.Free = max(now.Free, r.Mark)
		}
	}
	for _, r := range t.records {
		if r.Destroyed {
			t.folds = min(t.folds, r.Mark)
		}
	}
	t.complete, t.touched, t.disk = true, nil, unstored{}
	slices.SortFunc(ended, func(a, b attachment.Ref) int { return cmp.Compare(a.Definition.Name(), b.Definition.Name()) })
	return ended
}
