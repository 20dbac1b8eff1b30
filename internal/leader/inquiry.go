package leader

import (
	"cmp"
	"maps"
	"slices"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// A join or a leave names a member; the sender of the request is not known. So the
// leader probes that member, at the address that the join states or the roster has, and
// believes the member's own answer (R11).

// Bounds of the members that are asked at the same time. Those that gossip does not see
// are few: they may not exist, and take as long as a probe may.
const (
	inquiriesMax    = 64
	inquiriesUnseen = 8
)

// inquiries are the members that are being asked.
type inquiries struct {
	open   map[uint64]*inquiry // by round
	rounds uint64
}

// inquiry is one member that is being asked about a request.
type inquiry struct {
	member roster.Incarnation
	seen   bool // by gossip, at the address
	reply  func(error)
	// then decides on the answer: the reply, or another probe of the same inquiry.
	then func(v View, round uint64, a Answer, err error) (done bool, result error)
}

func newInquiries() inquiries { return inquiries{open: map[uint64]*inquiry{}} }

// room reports whether a member may be asked: it is not being asked already, and not as
// many others are as may be.
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

// inquire asks a member at an address.
func (l *Leader) inquire(v View, api string, i inquiry) {
	q := &l.inquiry
	i.seen = slices.ContainsFunc(v.Peers, func(p Peer) bool { return p.Incarnation == i.member && p.API == api })
	if !q.room(i.member, i.seen) {
		i.reply(failure.Errorf(ErrUnavailable, "grid: member %s, or the maximum number of others, is being queried; try again", i.member))
		return
	}
	q.rounds++
	q.open[q.rounds] = &i
	l.probe(v, i.member, api, forInquiry, q.rounds)
}

// inquired takes the outcome of an inquiry's probe.
func (l *Leader) inquired(v View, p Probe, a Answer, err error) {
	i := l.inquiry.open[p.round]
	if i == nil {
		return
	}
	if done, result := i.then(v, p.round, a, err); done {
		delete(l.inquiry.open, p.round)
		i.reply(result)
	}
}

// resign answers every open inquiry.
func (q *inquiries) resign() {
	rounds := slices.SortedFunc(maps.Keys(q.open), cmp.Compare[uint64])
	for _, round := range rounds {
		q.open[round].reply(errNotLeading)
	}
	clear(q.open)
}

// silent is the error of a member that does not answer.
func silent(member roster.Incarnation, api string, err error) error {
	return failure.Errorf(ErrUnavailable, "grid: member %s does not answer the leader at %.80q: %w", member, api, err)
}
