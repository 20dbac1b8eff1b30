package partition

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Durable replicas store the definitions of their tables on disk. A machine decides on the
// writes, the replies that wait for them, and the disks that the roster may name; its
// member performs the writes and the calls.

// Write is a write of a durable replica to its disk: atomic, in the order in which the
// partition's writes were handed over.
type Write struct {
	Position backup.Position // position of the stored table
	DefinitionChange
}

// DiskMember has the effects of a machine on disks. No method may call the machine.
type DiskMember interface {
	// Store brings a write to this member's disk. When it is there to stay (fsync), or
	// has failed, the member calls [Machine.Stored]. A partition has one at a time.
	Store(w Write)
	// ReportStored reports to the owner, once, that a table is on this member's disk. The owner's
	// member calls [Machine.StoredBy]. The owner requests a lost report again.
	ReportStored(to roster.Incarnation, p backup.Position)
	// ReportPersisted reports to the leader, until it is moot, that the roster may name the disks
	// of a partition's durable in-sync replicas (D4).
	ReportPersisted(p roster.Persisted)
	// Collect requests definitions from a disk; the member calls [Machine.Collected] with the
	// reply.
	Collect(c Collection)
	// DefinitionsCollected is for the log.
	DefinitionsCollected(id roster.PartitionID, from roster.MemberID, names int)
}

// storeRetry is the pause after a write that failed.
const storeRetry = time.Second

// disk is a machine's part in keeping definitions on disk.
type disk struct {
	writing  bool             // a write is in progress
	failed   bool             // the last one did
	retry    time.Duration    // not before
	delayed  bool             // holders may still present names that no disk has
	reported roster.Persisted // the last one
}

// store writes the changes that this replica's disk lacks, if that is useful: only a complete table
// with the newest known term (D1). It reports whether the changes are in memory already.
func (m *Machine) store(v View) (stored bool) {
	if m.replica.Storage().Memory {
		return m.keep()
	}
	if m.disk.writing || v.Mono < m.disk.retry || !m.replica.IsDurable() || !m.table.Complete() {
		return false
	}
	p, useful := m.replica.Storable()
	switch {
	case !useful:
	case !m.table.Unstored():
		m.replica.Stored(p)
	default:
		m.disk.writing = true
		m.member.Store(Write{Position: p, DefinitionChange: m.table.TakeUnstored()})
	}
	return false
}

// Stored takes note that a write of this machine is on disk, or has failed.
func (m *Machine) Stored(v View, p backup.Position, err error) {
	m.observe(v)
	m.disk.writing, m.disk.failed, m.disk.retry = false, err != nil, 0
	switch {
	case err != nil:
		m.table.ForgetStored()
		m.disk.retry = v.Mono + storeRetry
	case m.replica.Stored(p) && !m.replica.Acts():
		m.reportStored(p)
	}
	m.settle(v)
}

// reportStored reports to the owner of a table's term that this member has stored the table.
func (m *Machine) reportStored(p backup.Position) {
	if owner, named := m.replica.OwnerOf(p.Term); named {
		m.member.ReportStored(owner, p)
	}
}

// StoredBy takes note that another replica has a table on its disk.
func (m *Machine) StoredBy(v View, from roster.Incarnation, p backup.Position) {
	m.observe(v)
	m.replica.StoredBy(from, p)
	m.settle(v)
}

// reportPersisted makes the leader name the disks of the durable in-sync replicas. If these replace
// others, and two of them are named already, or the only one, it waits until a reply needs it:
// after members have left cleanly, each of their disks stays good until something changes. With
// fewer, leaving members wait until others are named in their place.
func (m *Machine) reportPersisted(v View) {
	m.disk.delayed = false
	p, ready := m.replica.Persisted()
	if !ready || !m.table.Complete() {
		return
	}
	d := m.replica.Disks(0)
	named := len(d.Named) - len(d.Missing)
	replaces := len(d.Missing) > 0 && named > 0 && named >= min(2, d.Next) && !m.replica.Storage().Memory
	switch {
	case p == m.disk.reported, replaces && !slices.ContainsFunc(m.pending, func(h pendingReply) bool { return h.persistent }):
	case len(d.Named) == 0 && m.isLearning(v):
		m.disk.delayed = true
	default:
		m.disk.reported = p
		m.member.ReportPersisted(p)
	}
}

// awaitsDisks reports whether time may do something about disks here.
func (m *Machine) awaitsDisks() bool {
	if m.disk.failed || m.disk.delayed || len(m.waiting) > 0 {
		return true
	}
	return m.replica.Acts() && (!m.table.Complete() || m.isBehind())
}

// isBehind reports whether some replica's disk lacks something.
func (m *Machine) isBehind() bool {
	return !m.replica.OnAllDisks(m.replica.Position().Number) || !m.replica.JoinerOnDisk()
}

// askDisks requests the positions of the replicas' disks again: reports may be lost.
func (m *Machine) askDisks() {
	if m.table.Complete() && m.isBehind() {
		m.question()
	}
}
