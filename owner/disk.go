package owner

import (
	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Durable replicas keep the definitions of their tables on disk. A machine says what
// is to be written and asks other members' disks after a loss; its member does it.

// Write is what a durable replica brings to its disk: all of it or nothing, in the
// order in which a partition's writes were handed over.
type Write struct {
	Position backup.Position // of the table that the disk has then
	sequencer.DefinitionChange
}

// Collection asks one member's disk for a partition's definitions (D6). The member
// answers from disk, after its own machine has agreed by [Machine.ShowDisk].
type Collection struct {
	From partition.MemberID // this member too
	Term partition.Term     // of the owner that asks
	Lost partition.Term     // of the loss that made it ask
}

// DiskMember is what a machine has its member do about disks. No method may call the
// machine.
type DiskMember interface {
	// Store brings a write to this member's disk; when it is there to stay (fsync), or
	// cannot be, [Machine.Stored] is told. There is one at a time for a partition.
	Store(w Write)
	// ReportStored tells the owner, once, that a table is on this member's disk. The
	// owner's member calls [Machine.StoredBy].
	ReportStored(to partition.Incarnation, p backup.Position)
	// Collect asks a disk; what came of it goes to [Machine.Collected].
	Collect(c Collection)
	// ReportPersisted tells the leader, for as long as that is worth telling, which
	// disks have everything (D4).
	ReportPersisted(p partition.Persisted)
	// DefinitionsCollected is for the log: the definitions came from a member's disk.
	DefinitionsCollected(id partition.ID, from partition.MemberID, names int)
}

// Stored takes note that a write of this machine's is on disk, or failed.
func (m *Machine) Stored(v View, w backup.Position, err error) {
	m.observe(v)
	m.settle(v)
}

// StoredBy takes note that another replica has a table on its disk.
func (m *Machine) StoredBy(v View, from partition.Incarnation, p backup.Position) {
	m.observe(v)
	m.replica.StoredBy(from, p)
	m.settle(v)
}

// Collected takes what came of a collection: the definitions on a member's disk.
func (m *Machine) Collected(v View, c Collection, d sequencer.Definitions, err error) {
	m.observe(v)
	m.settle(v)
}

// ShowDisk agrees to show this member's disk for a collection, or says why not. The
// disk has to be read after it, and what is written there meanwhile does no harm.
func (m *Machine) ShowDisk(v View, c Collection) error {
	m.observe(v)
	defer m.settle(v)
	return m.replica.MayShow(c.Term, c.Lost)
}
