// Package partition is machinery of package grid without a promise of compatibility.
//
// It implements one partition at one member. As the owner, a partition serves holders from its
// [Table] of logical nodes, and releases a reply only after every replica has acknowledged the
// changes that the reply depends on. As a backup it applies the updates that the owner sends.
//
// A [Machine] is a pure state machine. It receives a [View] of the member's state with each
// request and each answer, and calls its [Member] for every effect. Package grid runs one
// machine for each partition in a goroutine of its own; proof/sim runs the same machines in
// a loop. The [Table] and the [Sessions] are pure values inside the machine.
//
// The letters in comments (O1, O4, ...) are the rules of proof/RULES.md.
package partition

import (
	"fmt"
	"maps"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// View is the state of a member at a call of its machine.
type View struct {
	Roster *roster.Roster   // the newest that it has applied
	Time   clustertime.Tick // its cluster time, 0 while unknown
	Mono   time.Duration    // its monotonic clock
	Ended  bool             // it no longer grants anything (S1)
}

// Bounds are the times under which the member acts as an owner. A clock that runs
// ahead of the ceiling must not begin grants up there: they would be empty, and stay
// so for as long under a later owner.
func (v View) Bounds() Bounds {
	return Bounds{Now: min(v.Time, v.Roster.Ceiling), Ceiling: v.Roster.Ceiling}
}

func (v View) window() time.Duration {
	return v.Roster.Settings.Window.Duration()
}

// Member has the effects of a machine. No method may call the machine.
type Member interface {
	// Send sends an update to a replica; the result goes to [Machine.Delivered].
	Send(d Delivery)
	// TellEnded notifies holders of a life's end.
	TellEnded(holders []attachment.HolderID, ref attachment.Ref)
	// ReportHeld reports to the leader, until it is moot, that a joining replica has the table
	// (R5).
	ReportHeld(h roster.Holding)
	// ReportEarlier reports a grant from an earlier run of the grid to the leader (S2).
	ReportEarlier(until clustertime.Tick)
	DiskMember
	// BecameOwner and Expired are for the log.
	BecameOwner(id roster.PartitionID, term roster.Term)
	Expired(id roster.PartitionID, t Tenant)
}

// tableReplica replicates a table.
type tableReplica = backup.Replica[TableState, TableChange]

// Machine is one member's part in one partition. Each of its methods carries out all consequences
// of the newest view before it returns: the machine never replies under a term that the view has
// ended. It is not safe for concurrent use.
//
// The parts share the replica and the table. Each has its own state, and acts on the others only
// through the machine or an argument.
type Machine struct {
	id         roster.PartitionID
	member     Member
	replica    *tableReplica
	table      *Table
	sessions   *Sessions
	ending     endings
	released   released
	ownerSince time.Duration // when it became the owner
	unacked    unacked
	reported   roster.Holding // the last one
	tombstones int            // see KeepTombstones

	learner    *learner
	replies    *replies
	deliveries *deliveries
	storage    *storage
	keepers    *keepers
	collection *collection
}

// New returns the machine of a partition at a member; self is its incarnation, mono its
// monotonic clock.
func New(id roster.PartitionID, self roster.Incarnation, mono time.Duration, member Member) *Machine {
	table := NewTable()
	replica := backup.New(id, self, table)
	d := &deliveries{member: member, replica: replica, senders: map[roster.Incarnation]*sender{}}
	k := &keepers{replica: replica, table: table, keeping: map[roster.Incarnation]*keeping{}}
	return &Machine{
		id: id, member: member, table: table, replica: replica,
		sessions:   NewSessions(0, mono),
		ending:     endings{},
		released:   released{},
		unacked:    newUnacked(),
		tombstones: Tombstones,
		learner:    &learner{id: id, table: table},
		replies:    &replies{id: id, replica: replica, table: table, deliveries: d, keepers: k},
		deliveries: d,
		storage:    &storage{member: member, replica: replica, table: table, keepers: k},
		keepers:    k,
		collection: &collection{id: id, member: member, replica: replica, table: table, asks: map[roster.MemberID]*ask{}},
	}
}

// Tombstones is the number of destroyed names that a partition keeps, the latest ones, with their last
// definitions. A name that is created again must not repeat their IDs. One takes 160 to 250 bytes a copy.
const Tombstones = 1024

// KeepTombstones sets the number that is [Tombstones] otherwise. Explorations use small ones.
func (m *Machine) KeepTombstones(n int) { m.tombstones = n }

// Table is the logical-node table, to look at.
func (m *Machine) Table() *Table { return m.table }

// Position returns the replica's position.
func (m *Machine) Position() backup.Position { return m.replica.Position() }

// Acts reports whether the replica may act as the owner (O1).
func (m *Machine) Acts() bool { return m.replica.Acts() }

// Admission is [backup.Replica.Admission], once the joining replica has written its table, so that
// no reply waits for its first write.
func (m *Machine) Admission() (roster.Holding, bool) {
	if m.table.Complete() && !m.replica.JoinerOnDisk() {
		return roster.Holding{}, false
	}
	return m.replica.Admission()
}

// Observe passes a changed view to the machine.
func (m *Machine) Observe(v View) {
	m.observe(v)
	m.settle(v)
}

// observe passes a roster to the replica.
func (m *Machine) observe(v View) {
	if int(m.id) >= len(v.Roster.Partitions) {
		return
	}
	if v.Roster.Version <= m.replica.Version() {
		return
	}
	m.learner.observe(v)
	if m.replica.Observe(v.Roster.Version, v.Roster.Partitions[m.id], v.Roster.Storage(m.id)) {
		m.becomeOwner(v)
	}
	m.keepers.observe(v.Roster.Partitions[m.id])
}

// act looks whether this member may answer for the partition, and under which
// bounds. Everything an owner does begins with it.
func (m *Machine) act(v View) (Bounds, error) {
	if int(m.id) >= len(v.Roster.Partitions) {
		return Bounds{}, failure.Errorf(sequencer.ErrUnavailable, "grid: the grid is not formed yet")
	}
	m.observe(v)
	switch {
	case v.Ended:
		return Bounds{}, ErrEnded
	case !m.replica.Acts():
		return Bounds{}, roster.ErrWrongOwner
	}
	return v.Bounds(), nil
}

// becomeOwner begins the term's sessions: inherited attachments live for a window from now, unless
// their holders renew them.
func (m *Machine) becomeOwner(v View) {
	m.Fail(roster.ErrWrongOwner)
	m.ownerSince = v.Mono
	m.unacked = newUnacked()
	clear(m.collection.asks)
	clear(m.keepers.keeping)
	m.sessions = NewSessions(v.window(), v.Mono)
	for _, t := range m.table.Tenants() {
		m.sessions.Show(t, v.Mono)
	}
	m.member.BecameOwner(m.id, m.replica.Position().Term)
}

// settle carries out the effects of the last event.
func (m *Machine) settle(v View) {
	stored := m.storage.store(v)
	if !m.replica.Acts() {
		if stored {
			m.storage.report(m.keepers.kept.position)
		}
		m.Fail(roster.ErrWrongOwner)
		clear(m.released)
		clear(m.keepers.keeping)
		if m.sessions.Len() > 0 {
			m.sessions = NewSessions(0, v.Mono)
		}
		return
	}
	m.collection.collect(v)
	m.storage.store(v)
	m.resume(v)
	m.deliveries.replicate()
	m.keepers.send(m.deliveries)
	m.replies.release()
	m.storage.reportPersisted(v, m.replies, m.learner)
	if h, ready := m.Admission(); ready && h != m.reported {
		m.reported = h
		m.member.ReportHeld(h)
	}
}

// Fail gives up every destroy in progress, every pending reply and every request
// that waits.
func (m *Machine) Fail(err error) {
	for _, name := range m.ending.names() {
		begun := m.ending[name].waiting
		delete(m.ending, name)
		for _, b := range begun {
			b.ended(err)
		}
	}
	pending := m.replies.pending
	m.replies.pending = nil
	for _, h := range pending {
		h.answer.send(err)
	}
	requests := m.collection.waiting
	m.collection.waiting = nil
	for _, w := range requests {
		w.request.fail(err)
	}
}

// TickEvery is the interval of [Machine.Tick] while [Machine.Ticks] is true.
const TickEvery = 250 * time.Millisecond

// Ticks reports whether there is anything that time alone does here.
func (m *Machine) Ticks() bool {
	return m.sessions.Len() > 0 || len(m.ending) > 0 || len(m.released) > 0 ||
		m.storage.isPending() || len(m.collection.waiting) > 0 || m.replies.awaitDisks()
}

// Tick expires the attachments of silent holders and completes overdue destroys.
func (m *Machine) Tick(v View) {
	if b, err := m.act(v); err == nil {
		m.pass(v, b)
	}
	m.settle(v)
}

// pass performs the work that is due.
func (m *Machine) pass(v View, b Bounds) {
	maps.DeleteFunc(m.released, func(_ attachment.ID, at time.Duration) bool { return v.Mono-at > v.window() })
	m.sessions.window = v.window() // it grows while owners serve: from then on holders renew less often
	for _, t := range m.sessions.Expired(v.Mono) {
		if m.table.Expire(t.Name, t.Node, t.ID, t.Until) {
			m.changed(t.Name, t.ID)
			m.table.use(t.Name, v.Mono)
			m.member.Expired(m.id, t)
		}
	}
	for _, name := range m.ending.names() {
		if v.Mono >= m.ending[name].deadline {
			m.end(name, v.Mono)
		}
	}
	m.collection.giveUpOverdue(v.Mono)
	m.replies.giveUpOverdue(v.Mono)
	if m.table.Complete() && m.storage.isBehind() {
		m.deliveries.question(false) // for the positions of the replicas' disks: reports may be lost
	}
	if m.table.Fold(b.Now, m.tombstones) {
		m.replica.Changed()
	}
}

// Serves returns nil if the member serves the partition as its owner, or the reason why not.
func (m *Machine) Serves(v View) error {
	_, err := m.act(v)
	return err
}

// HasEveryName reports whether the table has every name of the partition: it is complete, and no
// holder may still present a name that a loss erased.
func (m *Machine) HasEveryName(v View) bool {
	return m.table.Complete() && (!m.learner.isLearning(v) || !m.learner.mayRecreate(v))
}

// High returns the first tick that was not granted in the partition, after its member has
// stopped granting (S1).
func (m *Machine) High(v View) (clustertime.Tick, error) {
	m.Observe(v)
	high, free := m.table.High()
	switch {
	case !m.replica.Acts():
		return 0, roster.ErrWrongOwner
	case !v.Ended:
		return 0, fmt.Errorf("partition %d is still served", m.id)
	case !free:
		return 0, fmt.Errorf("logical nodes of partition %d are attached still", m.id)
	}
	return high, nil
}

// ErrEnded is the reply of an owner whose member grants nothing more.
var ErrEnded = failure.Errorf(sequencer.ErrClosed,
	"grid: this member has left or stopped and grants nothing; use another member")
