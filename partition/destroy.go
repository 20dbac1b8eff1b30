package partition

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// answerTime bounds the time for which a destroy waits for holders to report their use.
const answerTime = time.Second

// ending is a destroy in progress: the holders were notified, and each live one
// releases its logical node with the last timestamp it used. When all have, or
// time is up, the life ends.
type ending struct {
	ref      attachment.Ref
	deadline time.Duration
	waiting  []*begun
}

// endings are the destroys in progress, by name.
type endings map[string]*ending

func (e endings) names() []string {
	if len(e) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(e))
}

// check returns an error for a name while its life is being ended: its holders have been notified
// of the end already, but the record still exists.
func (e endings) check(name string) error {
	if e[name] == nil {
		return nil
	}
	return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: it is being destroyed", name)
}

// Destroy ends a life, the current one if life is zero. It replies when the life has ended; the
// machine continues to serve in the meantime.
func (m *Machine) Destroy(v View, name string, life attachment.Life, reply func(error)) {
	b := &begun{to: reply}
	serveNames(m, v, destroy{name: name, life: life, begun: b}, b)
}

// DestroyUnused destroys a sequencer that was unused for a time, according to [Machine.Unused],
// when its turn comes. The error is [failure.ErrInUse] if it was used.
func (m *Machine) DestroyUnused(v View, name string, unused time.Duration, reply func(error)) {
	b := &begun{to: reply}
	serveNames(m, v, destroy{name: name, unused: unused, begun: b}, b)
}

// destroy is the request of [Machine.Destroy].
type destroy struct {
	name string
	life attachment.Life
	// unused is for how long the sequencer has to be unused, 0 if that does not matter.
	unused time.Duration
	begun  *begun
}

func (d destroy) serve(m *Machine, v View, _ Bounds) (struct{}, error) {
	if err := m.learner.check(v, d.name); err != nil {
		d.begun.ended(err)
	} else if err := m.checkUnused(v, d.name, d.unused); err != nil {
		d.begun.ended(err)
	} else {
		m.destroy(v, d.name, d.life, d.begun)
	}
	return struct{}{}, nil
}

// begun replies to a destroy. It waits for the life's end, and for the changes that the begin
// depends on, unless the end never comes.
type begun struct {
	to       func(error) // nil when it was called
	outcome  error
	settled  bool // the beginning may be answered
	finished bool
}

func (b *begun) reply(_ struct{}, err error) {
	b.settled = true
	if err != nil {
		b.finished, b.outcome = true, err
	}
	b.done()
}

func (b *begun) ended(err error) {
	b.finished, b.outcome = true, cmp.Or(b.outcome, err)
	b.done()
}

func (b *begun) done() {
	if b.settled && b.finished && b.to != nil {
		b.to(b.outcome)
		b.to = nil
	}
}

// end replies to a destroy whose life has ended.
type end struct {
	begun *begun
	err   error
}

func (e end) send(notAcked error) { e.begun.ended(cmp.Or(e.err, notAcked)) }

// destroy begins to end a life, or joins the requests that already wait for its end.
func (m *Machine) destroy(v View, name string, life attachment.Life, b *begun) {
	if e := m.ending[name]; e != nil {
		e.waiting = append(e.waiting, b)
		return
	}
	ref, err := m.table.Open(name)
	if err == nil && !life.IsZero() && life != ref.Life {
		err = sequencer.ErrDestroyed
	}
	if err != nil {
		b.ended(err)
		return
	}
	m.ending[name] = &ending{ref: ref, deadline: v.Mono + answerTime, waiting: []*begun{b}}
	m.tellEnded(ref)
	m.endIfSilent(name, v.Mono)
}

// tellEnded notifies every holder with a handle on a life of its end.
func (m *Machine) tellEnded(ref attachment.Ref) {
	m.member.TellEnded(m.sessions.Holders(ref.Definition.Name()), ref)
}

// endIfSilent completes a destroy once no holder has a node of the life.
func (m *Machine) endIfSilent(name string, now time.Duration) {
	if len(m.table.TenantsOf(name)) == 0 {
		m.end(name, now)
	}
}

// end ends a life. Holders are notified again: one may have opened its stream after the first time,
// and renewed before this.
func (m *Machine) end(name string, now time.Duration) {
	e := m.ending[name]
	delete(m.ending, name)
	err := m.table.Destroy(e.ref)
	if err == nil {
		m.changed(name, attachment.ID{})
		m.tellEnded(e.ref)
		m.sessions.DropName(name)
	}
	m.answerEnding(e, err, now)
}

// answerEnding replies to all requests for a life's end.
func (m *Machine) answerEnding(e *ending, err error, now time.Duration) {
	for _, b := range e.waiting {
		m.replies.add(pendingReply{number: m.replica.Position().Number, persistent: true, deadline: now + namesWait,
			answer: end{b, err}})
	}
}
