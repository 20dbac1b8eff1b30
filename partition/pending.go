package partition

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	// wholeTable makes a reply depend on the whole table.
	wholeTable = math.MaxUint64
	// pendingMax bounds one partition's replies that wait for replicas.
	pendingMax = 4096
)

// pendingReply is a reply that waits until every replica has acknowledged the changes on
// which it depends (O4). It is data and no function, so that a machine can be copied with
// all its pending replies.
type pendingReply struct {
	number   uint64 // in this term
	question uint64 // 0 for none
	// persistent makes the reply depend on every disk as well, by a deadline (D2).
	persistent bool
	deadline   time.Duration
	answer     answer
}

// answer is sent with nil when every replica has acknowledged the changes on which it
// depends, or with the reason why that has become impossible.
type answer interface{ send(notAcked error) }

// caller gets the answer to a request, once.
type caller[T any] interface{ reply(value T, err error) }

// replyFunc is a caller that gave a function.
type replyFunc[T any] func(T, error)

func (f replyFunc[T]) reply(value T, err error) { f(value, err) }

// errorFunc is a caller that gave a function, of a request with no value.
type errorFunc func(error)

func (f errorFunc) reply(_ struct{}, err error) { f(err) }

// outcome is the answer to a request that was served.
type outcome[T any] struct {
	value T
	err   error
	to    caller[T]
}

func (o outcome[T]) send(notAcked error) {
	if notAcked != nil {
		var none T
		o.value = none
	}
	o.to.reply(o.value, cmp.Or(notAcked, o.err))
}

// serve serves a request and defers its reply until every replica has acknowledged all changes that
// it depends on: the whole table as it is then, unless the request limits them by m.after (O4). If
// the request changes nothing, a read barrier first makes sure that no replica has a later owner.
func serve[T any](m *Machine, v View, request func(b Bounds) (T, error), to caller[T]) {
	defer m.settle(v)
	b, err := m.act(v)
	if err != nil {
		var none T
		to.reply(none, err)
		return
	}
	m.after, m.persistent = wholeTable, false
	before := m.replica.Position()
	value, err := request(b)
	h := pendingReply{number: min(m.after, m.replica.Position().Number), answer: outcome[T]{value, err, to}}
	if m.persistent && !errors.Is(err, sequencer.ErrUnavailable) { // ErrUnavailable depends on no name
		h.persistent, h.deadline = true, v.Mono+namesWait
	}
	if m.after == wholeTable && m.replica.Position() == before {
		h.question = m.question()
		if h.persistent {
			m.keepersAsked = h.question
		}
	}
	m.deferReply(h)
}

// deferReply sends the reply after every in-sync replica has acknowledged the changes on
// which it depends.
func (m *Machine) deferReply(h pendingReply) {
	switch {
	case len(m.pending) == 0 && m.isReady(h):
		h.answer.send(nil)
	case len(m.pending) >= pendingMax:
		h.answer.send(failure.Errorf(sequencer.ErrUnavailable, "grid: partition %d waits for its backups; try again", m.id))
	default:
		m.pending = append(m.pending, h)
	}
}

// isReady reports whether every needed replica has acknowledged the changes on which an
// answer depends.
func (m *Machine) isReady(h pendingReply) bool {
	return m.replica.AllAcknowledged(h.number) && h.question <= m.answered(h.persistent) &&
		(!h.persistent || m.table.Complete() && m.replica.Persistent(h.number))
}

// question begins a read barrier: the replies of all replicas confirm that none has seen a later
// owner. A reply without a change depends on that alone: a paused owner that was replaced would
// otherwise return an old state.
func (m *Machine) question() uint64 {
	m.questions++
	return m.questions
}

// answered returns the last read barrier that every needed replica has answered; with keepers set,
// every keeper of definitions as well: after a loss a later owner may have none of the replicas,
// but it has sent a request to a keeper.
func (m *Machine) answered(keepers bool) uint64 {
	least, asked := m.questions, m.replica.Needed()
	if keepers {
		asked = append(asked, m.keepers()...)
	}
	for _, i := range asked {
		s := m.senders[i]
		if s == nil {
			return 0
		}
		least = min(least, s.answered)
	}
	return least
}

// release sends the answers that waited long enough.
func (m *Machine) release() {
	kept := m.pending[:0]
	for _, h := range m.pending {
		if m.isReady(h) {
			h.answer.send(nil)
		} else {
			kept = append(kept, h)
		}
	}
	clear(m.pending[len(kept):])
	m.pending = kept
}

// changed numbers a change to a name, and to an attachment unless it is zero.
func (m *Machine) changed(name string, id sequencer.AttachmentID) {
	if number := m.replica.Changed().Number; !m.replica.AllAcknowledged(number) {
		m.unacked.note(name, id, number)
	}
}

// unacked tracks changes that some replica has not acknowledged: changes to a life by name, changes
// to a record by attachment. Other renewals need not wait.
type unacked struct {
	names      map[string]uint64
	ids        map[sequencer.AttachmentID]uint64
	everything uint64 // number of a change to the whole table; 0 for none
}

func newUnacked() unacked {
	return unacked{names: map[string]uint64{}, ids: map[sequencer.AttachmentID]uint64{}}
}

// none reports whether every replica is known to have acknowledged everything.
func (u unacked) none() bool { return len(u.names)+len(u.ids) == 0 && u.everything == 0 }

// note records a change's number.
func (u unacked) note(name string, id sequencer.AttachmentID, number uint64) {
	if id.IsZero() {
		u.names[name] = number
	} else {
		u.ids[id] = number
	}
}

// of returns the number that all have to acknowledge before an attachment's renewal may
// be answered; 0 is the table as the term began with it.
func (u unacked) of(name string, id sequencer.AttachmentID) uint64 {
	return max(u.names[name], u.ids[id], u.everything)
}

// forget drops the changes that every replica has acknowledged.
func (u *unacked) forget(acknowledged func(uint64) bool) {
	if acknowledged(u.everything) {
		u.everything = 0
	}
	for name, number := range u.names {
		if acknowledged(number) {
			delete(u.names, name)
		}
	}
	for id, number := range u.ids {
		if acknowledged(number) {
			delete(u.ids, id)
		}
	}
}
