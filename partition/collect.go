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
	serve(m, v, func(b Bounds) (T, error) {
		m.persistent = true
		return c.request.serve(m, v, b)
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
	if len(m.waiting) >= waitingMax {
		c.fail(m.awaited())
	} else {
		m.waiting = append(m.waiting, waiting{v.Mono + namesWait, c})
	}
	m.settle(v)
}

// awaited returns the error for a request that the incomplete table cannot serve.
func (m *Machine) awaited() error {
	return failure.Errorf(sequencer.ErrUnavailable, "grid: %s", m.awaits())
}

// awaits describes the disks that the table waits for.
func (m *Machine) awaits() string {
	if m.replica.InMemory() {
		return fmt.Sprintf("partition %d was lost with all its replicas, and its definitions are in the memory of members %s, of which none has answered yet; reconnect one of them, or, if their processes have ended, give the definitions up for good with: snowgrid forget MEMBER",
			m.id, list(m.replica.Disks(0).Named))
	}
	return fmt.Sprintf("partition %d was lost with all its replicas, and its definitions are on the disks of members %s, of which none has answered yet; start one of them, or give them up for good with: snowgrid forget MEMBER",
		m.id, list(m.replica.Disks(0).Named))
}

// list gives members' names for people to read.
func list[T ~string](members []T) string {
	texts := make([]string, len(members))
	for i, member := range members {
		texts[i] = string(member)
	}
	return strings.Join(texts, ", ")
}

// collect requests the definitions that this owner lacks after a loss from the named disks.
// If no disk is named any longer, the table is complete as it is.
func (m *Machine) collect(v View) {
	if m.table.Complete() {
		return
	}
	named := m.replica.Disks(0).Named
	if len(named) == 0 {
		m.table.CompleteAlone()
		m.replica.Changed()
		return
	}
	p := v.Roster.Partitions[m.id]
	for _, id := range named {
		a := m.asks[id]
		if a == nil {
			a = &ask{}
			m.asks[id] = a
		}
		if !a.busy && v.Mono >= a.next && v.Roster.Has(id) {
			a.busy = true
			m.member.Collect(Collection{From: id, Term: p.Term, Lost: p.LostTerm})
		}
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
		if a := m.asks[c.From]; a != nil {
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
	m.member.DefinitionsCollected(m.id, c.From, len(d.Records))
}

// resume begins the requests that waited for the definitions.
func (m *Machine) resume(v View) {
	if len(m.waiting) == 0 || !m.table.Complete() {
		return
	}
	begun := m.waiting
	m.waiting = nil
	for _, w := range begun {
		w.request.begin(m, v)
	}
}

// giveUpOverdue fails the requests that have waited too long for disks, with the list of those
// disks.
func (m *Machine) giveUpOverdue(now time.Duration) {
	overdue := 0
	for overdue < len(m.waiting) && m.waiting[overdue].deadline <= now {
		overdue++
	}
	late := slices.Clone(m.waiting[:overdue])
	m.waiting = slices.Delete(m.waiting, 0, overdue)
	for _, w := range late {
		w.request.fail(m.awaited())
	}
	var failed []pendingReply
	m.pending = slices.DeleteFunc(m.pending, func(h pendingReply) bool {
		if !h.persistent || h.deadline > now || !m.replica.AllAcknowledged(h.number) {
			return false
		}
		failed = append(failed, h)
		return true
	})
	for _, h := range failed {
		h.answer.send(m.unconfirmed(h))
	}
}

// unconfirmed returns an error with the disks that a reply waits for.
func (m *Machine) unconfirmed(h pendingReply) error {
	d := m.replica.Disks(h.number)
	var cause string
	switch {
	case len(d.Behind) > 0 && m.replica.Storage().Memory:
		cause = fmt.Sprintf("members %s of the majority of the voters do not have it in memory yet", list(d.Behind))
	case len(d.Behind) > 0:
		cause = fmt.Sprintf("it is not on the disks of %s yet", list(d.Behind))
	case len(d.Missing) > 0 && m.replica.InMemory():
		cause = fmt.Sprintf("other voters are to keep its definitions in place of members %s, which have ended; try again", list(d.Missing))
	case len(d.Missing) > 0:
		cause = fmt.Sprintf("the disks of members %s are to be replaced by those of durable replicas; start them, or give them up for good with: snowgrid forget MEMBER",
			list(d.Missing))
	case len(d.Named) == 0:
		cause = "no durable member has been named for it yet"
	default:
		cause = "its replicas have not confirmed it yet"
	}
	return failure.Errorf(sequencer.ErrUnavailable, "grid: partition %d: the outcome is not certain: %s", m.id, cause)
}

// notYet rejects a claim about a name that this owner may not have learned yet.
func (m *Machine) notYet(v View, c Claim) error {
	if m.table.Complete() || !m.life(c.Ref.Definition.Name()).IsZero() || m.withTrust(v, c).Forgotten {
		return nil
	}
	return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: %s", c.Ref.Definition.Name(), m.awaits())
}
