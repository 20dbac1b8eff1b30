package partition

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
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

// dependency limits the changes that a reply depends on.
type dependency struct {
	number uint64 // the last change that all replicas must acknowledge before the reply leaves
	disks  bool   // the reply waits for disks, too (D2)
}

// onTable is the dependency on the whole table as the request leaves it.
var onTable = dependency{number: wholeTable}

// serve serves a request and defers its reply until every replica has acknowledged all changes that
// it depends on, by the dependency that the request returns (O4). If the request changes nothing
// and depends on the whole table, a read barrier first makes sure that no replica has a later owner.
func serve[T any](m *Machine, v View, request func(b Bounds) (T, dependency, error), to caller[T]) {
	defer m.settle(v)
	b, err := m.act(v)
	if err != nil {
		var none T
		to.reply(none, err)
		return
	}
	before := m.replica.Position()
	value, on, err := request(b)
	h := pendingReply{number: min(on.number, m.replica.Position().Number), answer: outcome[T]{value, err, to}}
	if on.disks && !errors.Is(err, sequencer.ErrUnavailable) { // ErrUnavailable depends on no name
		h.persistent, h.deadline = true, v.Mono+namesWait
	}
	if on.number == wholeTable && m.replica.Position() == before {
		h.question = m.deliveries.question(h.persistent)
	}
	m.replies.add(h)
}

// replies are the replies that wait for other replicas.
type replies struct {
	id         roster.PartitionID
	replica    *tableReplica
	table      *Table
	deliveries *deliveries
	keepers    *keepers
	pending    []pendingReply
}

// add sends a reply after every in-sync replica has acknowledged the changes on which it
// depends.
func (r *replies) add(h pendingReply) {
	switch {
	case len(r.pending) == 0 && r.isReady(h):
		h.answer.send(nil)
	case len(r.pending) >= pendingMax:
		h.answer.send(failure.Errorf(sequencer.ErrUnavailable, "grid: partition %d waits for its backups; try again", r.id))
	default:
		r.pending = append(r.pending, h)
	}
}

// isReady reports whether every needed replica has acknowledged the changes on which an
// answer depends.
func (r *replies) isReady(h pendingReply) bool {
	return r.replica.AllAcknowledged(h.number) && h.question <= r.answered(h.persistent) &&
		(!h.persistent || r.table.Complete() && r.replica.Persistent(h.number))
}

// answered returns the last read barrier that every needed replica has answered; with keepers set,
// every keeper of definitions as well: after a loss a later owner may have none of the replicas,
// but it has sent a request to a keeper.
func (r *replies) answered(keepers bool) uint64 {
	asked := r.replica.Needed()
	if keepers {
		asked = append(asked, r.keepers.members()...)
	}
	return r.deliveries.answered(asked)
}

// release sends the answers that waited long enough.
func (r *replies) release() {
	kept := r.pending[:0]
	for _, h := range r.pending {
		if r.isReady(h) {
			h.answer.send(nil)
		} else {
			kept = append(kept, h)
		}
	}
	clear(r.pending[len(kept):])
	r.pending = kept
}

// awaitDisks reports whether a pending reply depends on disks.
func (r *replies) awaitDisks() bool {
	return slices.ContainsFunc(r.pending, func(h pendingReply) bool { return h.persistent })
}

// giveUpOverdue gives up the replies that have waited too long for disks.
func (r *replies) giveUpOverdue(now time.Duration) {
	var failed []pendingReply
	r.pending = slices.DeleteFunc(r.pending, func(h pendingReply) bool {
		if !h.persistent || h.deadline > now || !r.replica.AllAcknowledged(h.number) {
			return false
		}
		failed = append(failed, h)
		return true
	})
	for _, h := range failed {
		h.answer.send(r.unconfirmed(h))
	}
}

// unconfirmed returns an error with the disks that a reply waits for.
func (r *replies) unconfirmed(h pendingReply) error {
	d := r.replica.Disks(h.number)
	var cause string
	switch {
	case len(d.Behind) > 0 && r.replica.Storage().Memory:
		cause = fmt.Sprintf("members %s of the majority of the voters do not have it in memory yet", list(d.Behind))
	case len(d.Behind) > 0:
		cause = fmt.Sprintf("it is not on the disks of %s yet", list(d.Behind))
	case len(d.Missing) > 0 && r.replica.InMemory():
		cause = fmt.Sprintf("other voters are to keep its definitions in place of members %s, which have ended; try again",
			list(d.Missing))
	case len(d.Missing) > 0:
		cause = fmt.Sprintf("the disks of members %s are to be replaced by those of durable replicas; start them, or give "+
			"them up for good with: snowgrid forget MEMBER",
			list(d.Missing))
	case len(d.Named) == 0:
		cause = "no durable member has been named for it yet"
	default:
		cause = "its replicas have not confirmed it yet"
	}
	return failure.Errorf(sequencer.ErrUnavailable, "grid: partition %d: the outcome is not certain: %s", r.id, cause)
}

// changed numbers a change to a name, and to an attachment unless it is zero.
func (m *Machine) changed(name string, id attachment.ID) {
	if number := m.replica.Changed().Number; !m.replica.AllAcknowledged(number) {
		if id.IsZero() {
			m.unacked.names[name] = number
		} else {
			m.unacked.ids[id] = number
		}
	}
}

// unacked tracks changes that some replica has not acknowledged: changes to a life by name, changes
// to a record by attachment. Other renewals need not wait.
type unacked struct {
	names      map[string]uint64
	ids        map[attachment.ID]uint64
	everything uint64 // number of a change to the whole table; 0 for none
}

func newUnacked() unacked {
	return unacked{names: map[string]uint64{}, ids: map[attachment.ID]uint64{}}
}

// forget drops the changes that every replica has acknowledged.
func (u *unacked) forget(acknowledged func(uint64) bool) {
	if acknowledged(u.everything) {
		u.everything = 0
	}
	maps.DeleteFunc(u.names, func(_ string, number uint64) bool { return acknowledged(number) })
	maps.DeleteFunc(u.ids, func(_ attachment.ID, number uint64) bool { return acknowledged(number) })
}
