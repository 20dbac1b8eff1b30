package grid

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// A join or a leave names a member; who sent it is not known. So the leader calls that
// member, at the address that the join states or the roster has, and believes what it
// says of itself.

// Bounds of the members that are asked at the same time. Those that gossip does not see
// are few: they may not be there at all, and take half a second each.
const (
	inquiriesMax      = 64
	inquiriesOfUnseen = 8
)

// inquiries counts the members that are being asked. Its zero value is ready.
type inquiries struct {
	mu     sync.Mutex // guards what follows
	open   map[roster.Incarnation]bool
	unseen int
}

// begin lets an incarnation be asked until end, if it is not being asked already and
// there is room.
func (q *inquiries) begin(inc roster.Incarnation, seen bool) (end func(), room bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open[inc] || len(q.open) >= inquiriesMax || !seen && q.unseen >= inquiriesOfUnseen {
		return nil, false
	}
	if q.open == nil {
		q.open = map[roster.Incarnation]bool{}
	}
	q.open[inc] = true
	if !seen {
		q.unseen++
	}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.open, inc)
		if !seen {
			q.unseen--
		}
	}, true
}

// ask asks an incarnation at an address for its view.
func (m *Member) ask(ctx context.Context, inc roster.Incarnation, api string) (wire.HelloResponse, error) {
	_, seen := m.gossip.Find(func(p gossip.Peer) bool { return p.Incarnation == inc && p.API == api })
	end, room := m.inquiries.begin(inc, seen)
	if !room {
		return wire.HelloResponse{}, failure.Errorf(sequencer.ErrUnavailable,
			"grid: member %s, or as many others as may be, is being asked at this moment; try again", inc)
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	hello, err := m.hello(ctx, api, inc)
	if err != nil {
		return hello, failure.Errorf(sequencer.ErrUnavailable, "grid: member %s does not answer the leader at %.80q: %w", inc, api, err)
	}
	return hello, nil
}

// confirmsJoin returns nil if a member says of itself what a join says of it.
func confirmsJoin(in roster.Member, grid roster.GridID, hello wire.HelloResponse) error {
	switch {
	case hello.Grid != grid:
		return failure.Errorf(wire.ErrBadRequest, "grid: join refused: the member at %.80q is in grid %s, this is grid %s", in.API, hello.Grid, grid)
	case hello.Record != in:
		return failure.Errorf(wire.ErrBadRequest, "grid: join refused: the member at %.80q is %+v by its own answer, and %+v by the request", in.API, hello.Record, in)
	}
	return nil
}

// confirmsLeave returns nil if a member says of itself that it leaves, as a request
// says that it does.
func confirmsLeave(in wire.LeaveRequest, hello wire.HelloResponse) error {
	switch {
	case in.Failed && !hello.DiskFailed:
		return failure.Errorf(wire.ErrBadRequest, "grid: leave refused: member %s does not confirm that its disk has failed", in.Incarnation)
	case !hello.Leaving:
		return failure.Errorf(wire.ErrBadRequest, "grid: leave refused: member %s does not confirm that it is leaving", in.Incarnation)
	}
	return nil
}

// confirmLeave notes that a member leaves once it has said so itself. What is no member
// has nothing to leave.
func (m *Member) confirmLeave(ctx context.Context, in wire.LeaveRequest) error {
	member, known := m.state.Roster().Member(in.Incarnation)
	m.mu.Lock()
	noted := m.leaves[in.Incarnation] && (m.failed[in.Incarnation] || !in.Failed)
	m.mu.Unlock()
	if !known { // it is out of the roster, and may still be a server that votes
		p, seen := m.gossip.Find(func(p gossip.Peer) bool { return p.Incarnation == in.Incarnation })
		member.API, known = p.API, seen
	}
	switch {
	case noted || !known:
		return nil
	case in.Incarnation == m.self:
		return failure.Errorf(wire.ErrBadRequest, "grid: leave refused: member %s is this one, and it is not leaving", in.Incarnation)
	}
	hello, err := m.ask(ctx, in.Incarnation, member.API)
	if err == nil {
		err = confirmsLeave(in, hello)
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaves[in.Incarnation] = true
	if in.Failed {
		m.failed[in.Incarnation] = true
	}
	return nil
}

// forgetLeft forgets the members that have left: neither the roster nor Raft has them
// any more, and who joins later is asked again.
func (m *Member) forgetLeft(has func(roster.Incarnation) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for inc := range m.leaves {
		if inc != m.self && !has(inc) {
			delete(m.leaves, inc)
			delete(m.failed, inc)
		}
	}
}
