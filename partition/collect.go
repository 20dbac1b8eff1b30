package partition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Collection requests a partition's definitions from one member's disk (D6). The member replies
// from disk, after its own machine has agreed by [Machine.ShowDisk].
type Collection struct {
	From roster.MemberID // which may be this member
	Term roster.Term     // the requesting owner's term
	Lost roster.Term     // the loss that made it necessary
}

const (
	// collectRetry is the pause after a failed request.
	collectRetry = 400 * time.Millisecond
	// namesWait bounds the wait of a create, open or destroy for disks. It is shorter than the time
	// for which clients wait for a reply, so that they receive the list of disks.
	namesWait = 1500 * time.Millisecond
	// waitingMax bounds the requests of one partition that wait for its definitions.
	waitingMax = 4096
)

// ask is the request for one disk's definitions.
type ask struct {
	busy bool
	next time.Duration
}

// collection requests the definitions that an owner lacks after a loss, and has the requests that
// wait for them (D5, D6).
type collection struct {
	id      roster.PartitionID
	member  Member
	replica *tableReplica
	table   *Table
	asks    map[roster.MemberID]*ask
	waiting []waiting // requests that wait for definitions
}

// waiting is a request that cannot begin before the table is complete (D5).
type waiting struct {
	deadline time.Duration
	request  interface {
		begin(m *Machine, v View)
		fail(err error)
	}
}

// namesRequest is a create, an open or a destroy.
type namesRequest[T any] interface {
	serve(m *Machine, v View, b Bounds) (T, error)
}

// namesCall is such a request with its caller.
type namesCall[T any] struct {
	request namesRequest[T]
	to      caller[T]
}

func (c namesCall[T]) begin(m *Machine, v View) {
	serve(m, v, func(b Bounds) (T, dependency, error) {
		value, err := c.request.serve(m, v, b)
		return value, dependency{number: wholeTable, disks: true}, err
	}, c.to)
}

func (c namesCall[T]) fail(err error) {
	var none T
	c.to.reply(none, err)
}

// serveNames serves a create, an open or a destroy. It begins when the table is
// complete, and its answer waits for disks as well as for replicas (D2, D5).
func serveNames[T any](m *Machine, v View, request namesRequest[T], to caller[T]) {
	c := namesCall[T]{request, to}
	if _, err := m.act(v); err != nil || m.table.Complete() {
		c.begin(m, v)
		return
	}
	if len(m.collection.waiting) >= waitingMax {
		c.fail(m.collection.awaited())
	} else {
		m.collection.waiting = append(m.collection.waiting, waiting{v.Mono + namesWait, c})
	}
	m.settle(v)
}

// awaited returns the error for a request that the incomplete table cannot serve.
func (c *collection) awaited() error {
	return failure.Errorf(sequencer.ErrUnavailable, "grid: %s", c.awaits())
}

// awaits describes the disks that the table waits for.
func (c *collection) awaits() string {
	if c.replica.InMemory() {
		return fmt.Sprintf("partition %d was lost with all its replicas, and its definitions are in the memory of members "+
			"%s, of which none has answered yet; reconnect one of them, or, if their processes have ended, give the "+
			"definitions up for good with: snowgrid forget MEMBER",
			c.id, list(c.replica.Disks(0).Named))
	}
	return fmt.Sprintf("partition %d was lost with all its replicas, and its definitions are on the disks of members "+
		"%s, of which none has answered yet; start one of them, or give them up for good with: snowgrid forget MEMBER",
		c.id, list(c.replica.Disks(0).Named))
}

// list gives members' names for people to read.
func list[T ~string](members []T) string {
	texts := make([]string, len(members))
	for i, member := range members {
		texts[i] = string(member)
	}
	return strings.Join(texts, ", ")
}

// collect requests the missing definitions from the named disks. If no disk is named any longer,
// the table is complete as it is.
func (c *collection) collect(v View) {
	if c.table.Complete() {
		return
	}
	named := c.replica.Disks(0).Named
	if len(named) == 0 {
		c.table.complete = true
		c.replica.Changed()
		return
	}
	p := v.Roster.Partitions[c.id]
	for _, id := range named {
		a := c.asks[id]
		if a == nil {
			a = &ask{}
			c.asks[id] = a
		}
		if !a.busy && v.Mono >= a.next && v.Roster.Has(id) {
			a.busy = true
			c.member.Collect(Collection{From: id, Term: p.Term, Lost: p.LostTerm})
		}
	}
}

// giveUpOverdue fails the requests that have waited too long for disks, with the list of those
// disks.
func (c *collection) giveUpOverdue(now time.Duration) {
	overdue := 0
	for overdue < len(c.waiting) && c.waiting[overdue].deadline <= now {
		overdue++
	}
	late := slices.Clone(c.waiting[:overdue])
	c.waiting = slices.Delete(c.waiting, 0, overdue)
	for _, w := range late {
		w.request.fail(c.awaited())
	}
}

// ShowDisk returns nil if this member's disk may be read for a collection, else the reason.
// The disk has to be read after it. Concurrent writes do no harm.
func (m *Machine) ShowDisk(v View, c Collection) error {
	m.observe(v)
	defer m.settle(v)
	return m.replica.MayShow(c.Term, c.Lost)
}

// Collected receives the result of a collection: the definitions on a member's disk.
func (m *Machine) Collected(v View, c Collection, d Definitions, err error) {
	m.observe(v)
	if m.replica.Acts() && m.replica.Position().Term == c.Term && !m.table.Complete() {
		if a := m.collection.asks[c.From]; a != nil {
			*a = ask{next: v.Mono + collectRetry}
		}
		if err == nil && slices.Contains(m.replica.Disks(0).Named, c.From) {
			m.take(c, d)
		}
	}
	m.settle(v)
}

// take replaces the table's definitions by a disk's. Lives that are known only from claims have
// ended, and their holders are notified.
func (m *Machine) take(c Collection, d Definitions) {
	ended := m.table.Collect(d)
	m.unacked.everything = m.replica.Replaced().Number
	for _, ref := range ended {
		m.tellEnded(ref)
		m.sessions.DropName(ref.Definition.Name())
	}
	lives := 0
	for _, r := range d.Records {
		if !r.Destroyed {
			lives++
		}
	}
	m.member.DefinitionsCollected(m.id, c.From, lives)
}

// resume begins the requests that waited for the definitions.
func (m *Machine) resume(v View) {
	if len(m.collection.waiting) == 0 || !m.table.Complete() {
		return
	}
	begun := m.collection.waiting
	m.collection.waiting = nil
	for _, w := range begun {
		w.request.begin(m, v)
	}
}
