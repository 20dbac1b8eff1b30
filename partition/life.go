package partition

import (
	"cmp"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// showTime is the time, in addition to a renewal's pause, in which holders present their
// attachments after a loss.
const showTime = 3 * time.Second

// errNoTime is the reply of a member without cluster time.
var errNoTime = failure.Errorf(sequencer.ErrUnavailable, "grid: this member has no cluster time yet")

// Create replies with a name's life: the one there is, if it is defined so, or a new
// one. The caller gives the new one's Life, which is random.
func (m *Machine) Create(v View, ref attachment.Ref, reply func(attachment.Ref, error)) {
	m.CreateUnless(v, ref, nil, reply)
}

// CreateUnless is Create, which replies with an error, if it is not nil, in place of a new
// life.
func (m *Machine) CreateUnless(v View, ref attachment.Ref, full error, reply func(attachment.Ref, error)) {
	serveNames(m, v, create{ref, full}, replyFunc[attachment.Ref](reply))
}

// create is the request of [Machine.Create].
type create struct {
	ref  attachment.Ref
	full error // why there may be no new life; nil if there may
}

func (c create) serve(m *Machine, v View, b Bounds) (attachment.Ref, error) {
	ref, name := c.ref, c.ref.Definition.Name()
	if err := m.ending.check(name); err != nil {
		return attachment.Ref{}, err
	}
	if b.Now == 0 {
		return attachment.Ref{}, errNoTime
	}
	if v.Time > v.Roster.Ceiling {
		return attachment.Ref{}, failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: this member has applied no raise "+
			"of the ceiling for a window of %v; it may be cut off from the majority of the voters", name, v.window())
	}
	if err := m.learner.check(v, name); err != nil {
		return attachment.Ref{}, err
	}
	if _, err := m.table.Open(name); err != nil && c.full != nil {
		return attachment.Ref{}, c.full
	}
	at := m.replica.Position()
	ref.Born = attachment.Revision{Term: uint64(at.Term), Number: at.Number + 1}
	ref, changed, err := m.table.Create(ref, b.Now)
	if err != nil {
		return attachment.Ref{}, err
	}
	if changed {
		m.changed(name, attachment.ID{})
	}
	m.table.use(name, v.Mono)
	return ref, nil
}

// Open replies with a name's life.
func (m *Machine) Open(v View, name string, reply func(attachment.Ref, error)) {
	serveNames(m, v, open{name}, replyFunc[attachment.Ref](reply))
}

// open is the request of [Machine.Open].
type open struct{ name string }

func (o open) serve(m *Machine, v View, _ Bounds) (attachment.Ref, error) {
	m.table.use(o.name, v.Mono)
	if err := cmp.Or(m.ending.check(o.name), m.learner.check(v, o.name)); err != nil {
		return attachment.Ref{}, err
	}
	return m.table.Open(o.name)
}

// learner tracks the time in which an owner learns after a loss: holders may still have to present
// attachments and names that the table lacks.
type learner struct {
	id    roster.PartitionID
	table *Table
	loss  loss
}

// loss is a partition's last loss, as a replica has seen it.
type loss struct {
	term  roster.Term
	seen  time.Duration    // when, by the monotonic clock
	floor clustertime.Tick // of its term; 0 if the replica saw a later term first
}

// observe records a loss of the partition that is new to this replica, and the floor of its term.
func (l *learner) observe(v View) {
	p := v.Roster.Partitions[l.id]
	if p.LostTerm != l.loss.term {
		l.loss = loss{term: p.LostTerm, seen: v.Mono}
	}
	if p.Term == p.LostTerm {
		l.loss.floor = p.Floor
	}
}

// check returns an error for an unknown name while a loss may have erased it here and its
// holders may not have presented it yet: a second life of the name would end the handles of the
// first. The new life could not be used before cluster time has reached the floor anyway, so the
// wait costs nothing.
func (l *learner) check(v View, name string) error {
	if !l.isLearning(v) || !l.mayRecreate(v) {
		return nil
	}
	if _, err := l.table.Open(name); err == nil {
		return nil
	}
	return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: %s", name, l.waitsForHolders(v))
}

// waitsForHolders describes the wait of an owner that learns attachments, with the time when IDs
// begin: the grid or its partition has just begun, without a table.
func (l *learner) waitsForHolders(v View) string {
	floor, now := max(l.loss.floor, l.table.base), v.Bounds().Now
	return fmt.Sprintf("IDs begin at %s (in %v): %s; this partition's holders are asked for their logical nodes "+
		"first, for %v at most",
		floor.Time().Format(time.RFC3339), floor.Sub(now).Duration(), v.Roster.WhyIDsBegin(floor.Sub(now)), v.learningTime())
}

// learningTime is the maximum time for which a new owner learns.
func (v View) learningTime() time.Duration { return v.window()/4 + showTime }

// isLearning reports whether holders may still have to present attachments that this owner lacks
// after a loss. It is the same for the next owner, should the first one leave: the floor of its own
// term does not count.
func (l *learner) isLearning(v View) bool {
	return v.Roster.Partitions[l.id].LostTerm == l.loss.term && v.Bounds().Now < l.loss.floor &&
		v.Mono-l.loss.seen <= v.learningTime()
}

// mayRecreate reports whether an unknown name may be created again from a holder's claim (O6): the
// definitions have not been collected yet, or no disk has any. Otherwise the table has every
// existing name (D7).
func (l *learner) mayRecreate(v View) bool {
	return !l.table.Complete() || len(v.Roster.Partitions[l.id].Disk) == 0
}

// lifeOf returns a name's life, zero for none.
func (t *Table) lifeOf(name string) attachment.Life {
	ref, _ := t.Open(name) // a zero Ref with an error
	return ref.Life
}
