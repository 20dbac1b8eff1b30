package partition

import (
	"maps"
	"slices"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// Definitions is the part of a table that survives the loss of every replica: which
// names there are, how they are defined, and which lives have ended. Logical nodes
// are not in it. Records are sorted by name.
type Definitions struct {
	Base    clustertime.Tick   `json:"base"`
	Records []DefinitionRecord `json:"records,omitempty"`
}

// DefinitionRecord is one name: a life, or the tombstone of an ended life.
type DefinitionRecord struct {
	Ref       attachment.Ref   `json:"ref"`
	Destroyed bool             `json:"destroyed,omitempty"`
	Mark      clustertime.Tick `json:"mark,omitempty"` // tombstone: the start of a later life's grants
}

// DefinitionChange brings stored definitions from one state of a table to a later
// one: the whole of them, or the records that changed and the names that went.
type DefinitionChange struct {
	Base    clustertime.Tick
	Whole   *Definitions       // replaces everything stored; the other lists are empty then
	Changed []DefinitionRecord // sorted by name
	Removed []string           // sorted
}

// Definitions returns the part of the table that is stored on disk.
func (t *Table) Definitions() Definitions {
	d := Definitions{Base: t.base}
	for _, name := range slices.Sorted(maps.Keys(t.records)) {
		d.Records = append(d.Records, t.records[name].definition())
	}
	return d
}

func (r RecordState) definition() DefinitionRecord {
	return DefinitionRecord{Ref: r.Ref, Destroyed: r.Destroyed, Mark: r.Mark}
}

// unstored tracks the names whose definitions on disk differ from the table. In the zero value the
// disk's state is unknown; it takes no memory then, so a table that is never stored pays nothing.
type unstored struct {
	known bool // the disk has the table but for names
	names map[string]bool
}

func (u *unstored) note(name string) {
	if !u.known {
		return
	}
	if u.names == nil {
		u.names = map[string]bool{}
	}
	u.names[name] = true
}

// Unstored reports whether the definitions have changed since the last [Table.TakeUnstored].
func (t *Table) Unstored() bool { return !t.disk.known || len(t.disk.names) > 0 }

// TakeUnstored returns the change that brings the disk to this table, and counts it as
// stored from now on. If it cannot be stored, call [Table.ForgetStored].
func (t *Table) TakeUnstored() DefinitionChange {
	c := DefinitionChange{Base: t.base}
	if !t.disk.known {
		c.Whole = new(t.Definitions())
	}
	for _, name := range slices.Sorted(maps.Keys(t.disk.names)) {
		if r := t.records[name]; r != nil {
			c.Changed = append(c.Changed, r.definition())
		} else {
			c.Removed = append(c.Removed, name)
		}
	}
	t.disk = unstored{known: true}
	return c
}

// ForgetStored makes the next [Table.TakeUnstored] return all definitions.
func (t *Table) ForgetStored() { t.disk = unstored{} }

// compare records the names whose definitions differ between two tables.
func (u *unstored) compare(before, after map[string]*record) {
	for name, r := range before {
		if now := after[name]; now == nil || now.definition() != r.definition() {
			u.note(name)
		}
	}
	for name := range after {
		if before[name] == nil {
			u.note(name)
		}
	}
}
