package leader

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// A join or a leave names a member; the sender of the request is unknown. The leader therefore
// probes the member, at the address in the join or in the roster, and trusts only the member's
// own answer (R11).

// Limits for concurrent inquiries. The limit for members that gossip does not see is low: they may
// not exist, and then take a whole probe timeout.
const (
	inquiriesMax    = 64
	inquiriesUnseen = 8
)

// inquiries probes members about requests.
type inquiries struct {
	out    Member
	open   map[uint64]*inquiry // by round
	rounds uint64
}

// inquiry is one request whose member is being probed.
type inquiry struct {
	member roster.Incarnation
	seen   bool // by gossip, at the address
	reply  func(error)
	// then decides on the answer: it replies, or probes again in the same inquiry.
	then func(v View, round uint64, a Answer, err error) (done bool, result error)
}

// room reports whether a member may be probed: no inquiry about it is open, and the limits are not
// reached.
func (q *inquiries) room(member roster.Incarnation, seen bool) bool {
	unseen := 0
	for _, i := range q.open {
		if i.member == member {
			return false
		}
		if !i.seen {
			unseen++
		}
	}
	return len(q.open) < inquiriesMax && (seen || unseen < inquiriesUnseen)
}

func (q *inquiries) start(v View, api string, i inquiry) {
	i.seen = slices.ContainsFunc(v.Peers, func(p Peer) bool { return p.Incarnation == i.member && p.API == api })
	if !q.room(i.member, i.seen) {
		i.reply(failure.Errorf(ErrUnavailable,
			"grid: member %s, or the maximum number of others, is being queried; try again", i.member))
		return
	}
	q.out.Probe(newProbe(v.Mono, i.member, api, forInquiry, q.add(&i)))
}

// add opens an inquiry, and returns its round.
func (q *inquiries) add(i *inquiry) uint64 {
	q.rounds++
	q.open[q.rounds] = i
	return q.rounds
}

// probeMember probes a registered member, of which any start may answer, in an inquiry.
func (q *inquiries) probeMember(v View, m roster.Member, round uint64) {
	p := newProbe(v.Mono, m.Incarnation, m.API, forInquiry, round)
	p.AnyStart = true
	q.out.Probe(p)
}

// probed records the outcome of an inquiry's probe.
func (q *inquiries) probed(v View, p Probe, a Answer, err error) {
	i := q.open[p.round]
	if i == nil {
		return
	}
	if done, result := i.then(v, p.round, a, err); done {
		delete(q.open, p.round)
		i.reply(result)
	}
}

func silent(member roster.Incarnation, api string, err error) error {
	return failure.Errorf(ErrUnavailable, "grid: member %s does not answer the leader at %.80q: %w", member, api, err)
}
