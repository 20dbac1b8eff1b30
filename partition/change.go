package partition

import (
	"cmp"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TableChange is the new state of everything that some operations touched, for a replica
// with the table before them.
type TableChange struct {
	Base clustertime.Tick `json:"base"`
	// Complete reports that the table has every name for which a reply was ever sent.
	Complete bool `json:"complete,omitempty"`
	// Forgotten are names to delete with their records and slots: they were forgotten, or began or
	// ended a life and are in Records too.
	Forgotten []string `json:"forgotten,omitempty"`
	// Records have only the slots that changed.
	Records []RecordState `json:"records,omitempty"`
}

// touch is a name, or one of its nodes, that an operation changed.
type touch struct {
	name string
	node int
}

// noNode stands for a record that was begun, ended or forgotten.
const noNode = -1

func (t *Table) touch(name string, node int) {
	t.touched = append(t.touched, touch{name, node})
	if node == noNode {
		t.disk.note(name)
	}
}

// Change returns the changes since its last call. It leaves out grant ends that were only extended:
// a new owner counts every assigned node as granted up to its floor.
func (t *Table) Change() TableChange {
	c := TableChange{Base: t.base, Complete: t.complete}
	slices.SortFunc(t.touched, func(a, b touch) int { return cmp.Or(cmp.Compare(a.name, b.name), a.node-b.node) })
	for i, touched := range t.touched {
		first := i == 0 || t.touched[i-1].name != touched.name
		r := t.records[touched.name]
		if first && touched.node == noNode {
			c.Forgotten = append(c.Forgotten, touched.name)
		}
		if first && r != nil {
			state := r.RecordState
			state.Slots = nil
			c.Records = append(c.Records, state)
		}
		if r == nil || touched.node == noNode || !first && t.touched[i-1].node == touched.node {
			continue
		}
		if s := r.slot(sequencer.NodeID(touched.node)); s != nil { // a life that has ended has none
			last := &c.Records[len(c.Records)-1]
			last.Slots = append(last.Slots, *s)
		}
	}
	t.touched = nil
	return c
}

// Apply makes a change that was made to another copy of this very table.
func (t *Table) Apply(c TableChange) {
	t.base, t.complete = c.Base, c.Complete
	for _, name := range c.Forgotten {
		t.census.became(name, t.records[name].lives(), nil)
		delete(t.records, name)
		t.disk.note(name)
	}
	for _, state := range c.Records {
		name := state.Ref.Definition.Name()
		r := t.records[name]
		lived := r.lives()
		if r == nil {
			r = &record{}
			t.records[name] = r
		}
		slots := r.Slots
		r.RecordState = state
		r.Slots = slots
		t.census.became(name, lived, r)
		if r.Destroyed {
			t.folds = min(t.folds, r.Mark)
		}
		for _, s := range state.Slots {
			if i, found := r.find(s.Node); found {
				r.Slots[i] = s
			} else {
				r.Slots = slices.Insert(r.Slots, i, s)
			}
		}
	}
}
