package partition

import (
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

// storage stores one replica's definitions, on disk or in memory, and reports disks that the
// roster may name.
type storage struct {
	member   Member
	replica  *tableReplica
	table    *Table
	keepers  *keepers
	writing  bool             // a write is in progress
	failed   bool             // the last one did
	retry    time.Duration    // not before
	delayed  bool             // holders may still present names that no disk has
	reported roster.Persisted // the last one
}

// store writes the changes that this replica's disk lacks, if that is useful: only a complete table
// with the newest known term (D1). It reports whether the changes are in memory already.
func (s *storage) store(v View) (stored bool) {
	if s.replica.Storage().Memory {
		return s.keepers.keep()
	}
	if s.writing || v.Mono < s.retry || !s.replica.IsDurable() || !s.table.Complete() {
		return false
	}
	p, useful := s.replica.Storable()
	switch {
	case !useful:
	case !s.table.Unstored():
		s.replica.Stored(p)
	default:
		s.writing = true
		s.member.Store(Write{Position: p, DefinitionChange: s.table.TakeUnstored()})
	}
	return false
}

// Stored takes note that this machine's write is on disk, or has failed.
func (m *Machine) Stored(v View, p backup.Position, err error) {
	m.observe(v)
	m.storage.stored(v, p, err)
	m.settle(v)
}

func (s *storage) stored(v View, p backup.Position, err error) {
	s.writing, s.failed, s.retry = false, err != nil, 0
	switch {
	case err != nil:
		s.table.ForgetStored()
		s.retry = v.Mono + storeRetry
	case s.replica.Stored(p) && !s.replica.Acts():
		s.report(p)
	}
}

// report reports to the owner of a table's term that this member has stored the table.
func (s *storage) report(p backup.Position) {
	if owner, named := s.replica.OwnerOf(p.Term); named {
		s.member.ReportStored(owner, p)
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
// fewer, leaving members wait until others are named in their place. The first disks are named
// when the owner has ended learning.
func (s *storage) reportPersisted(v View, r *replies, l *learner) {
	s.delayed = false
	p, ready := s.replica.Persisted()
	if !ready || !s.table.Complete() {
		return
	}
	d := s.replica.Disks(0)
	named := len(d.Named) - len(d.Missing)
	replaces := len(d.Missing) > 0 && named > 0 && named >= min(2, d.Next) && !s.replica.Storage().Memory
	switch {
	case p == s.reported, replaces && !r.awaitDisks():
	case len(d.Named) == 0 && l.isLearning(v):
		s.delayed = true
	default:
		s.reported = p
		s.member.ReportPersisted(p)
	}
}

// isPending reports whether time may do something about disks here.
func (s *storage) isPending() bool {
	return s.failed || s.delayed || s.replica.Acts() && (!s.table.Complete() || s.isBehind())
}

// isBehind reports whether some replica's disk lacks something.
func (s *storage) isBehind() bool {
	return !s.replica.OnAllDisks(s.replica.Position().Number) || !s.replica.JoinerOnDisk()
}
