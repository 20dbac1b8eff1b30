package host

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// An owner probes members that do not acknowledge updates, and reports the unreachable ones to the
// leader: see [leader.Reach]. Nothing runs while updates are acknowledged in time.

// reach drives a [leader.Reach].
type reach struct {
	mu      sync.Mutex // guards the fields below; never held while waiting
	record  *leader.Reach
	apart   []roster.Incarnation // by the record
	looking bool                 // the record is stepped
	armed   bool                 // a look at the updates is due after leader.DoubtAfter
}

func (r *reach) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record, r.apart = leader.NewReach(), nil
}

// Unreached returns the members that do not answer this one while others do, sorted.
func (h *Host) Unreached() []roster.Incarnation {
	h.reach.mu.Lock()
	defer h.reach.mu.Unlock()
	return h.reach.apart
}

// sent notes that an update is on its way, and has it looked at when it was not acknowledged for long.
func (h *Host) sent(u update, now time.Duration) {
	h.counts.unacknowledged.sent(u, now)
	h.reach.mu.Lock()
	begin := !h.reach.armed && !h.reach.looking
	h.reach.armed = h.reach.armed || begin
	h.reach.mu.Unlock()
	if begin {
		h.life.Background(h.lookLater)
	}
}

// lookLater doubts replicas that have not acknowledged an update for long, as long as updates are on their
// way.
func (h *Host) lookLater(ctx context.Context) {
	for {
		signal.Sleep(ctx, leader.DoubtAfter)
		late, waits := h.counts.unacknowledged.late(h.clock.Mono(), leader.DoubtAfter, h.awaits())
		if len(late) == 0 && waits && ctx.Err() == nil {
			continue
		}
		h.reach.mu.Lock()
		h.reach.armed = false
		h.reach.mu.Unlock()
		for of := range late {
			h.Doubt(of)
		}
		return
	}
}

// Doubt has a member looked at that may not be reached.
func (h *Host) Doubt(of roster.Incarnation) {
	h.reach.mu.Lock()
	defer h.reach.mu.Unlock()
	h.reach.record.Doubt(of)
	if !h.reach.looking {
		h.reach.looking = h.life.Go(h.look)
	}
}

// look probes members in doubt until there are none, or the member ends.
func (h *Host) look() {
	for h.ctx.Err() == nil && h.lookOnce() {
		signal.Sleep(h.ctx, leader.ReachEvery)
	}
}

// lookOnce takes a step, and reports whether another one is due.
func (h *Host) lookOnce() bool {
	r, now := h.state.Roster(), h.clock.Mono()
	late, _ := h.counts.unacknowledged.late(now, leader.DoubtAfter, h.awaits())
	h.reach.mu.Lock()
	record := h.reach.record
	for of := range late {
		record.Doubt(of)
	}
	probe := record.Step(now, r, h.leads(r))
	more := !record.Idle()
	h.reach.looking = more
	h.reach.mu.Unlock()
	h.noteApart(record)
	for _, of := range probe {
		m, _ := r.Member(of)
		h.life.Background(func(ctx context.Context) { h.probe(ctx, record, m) })
	}
	return more
}

// leads returns the leader, "" if it is unknown or this member.
func (h *Host) leads(r *roster.Roster) roster.Incarnation {
	m, found := leader.MemberOf(r, leader.ServerID(h.raft.Node().Leader()))
	if !found || m.Incarnation == h.self {
		return ""
	}
	return m.Incarnation
}

// probe calls a member.
func (h *Host) probe(ctx context.Context, record *leader.Reach, m roster.Member) {
	ctx, cancel := context.WithTimeout(ctx, leader.ReachTimeout)
	defer cancel()
	began := h.clock.Mono()
	_, err := h.caller.Hello(ctx, m.API, m.Incarnation)
	h.reach.mu.Lock()
	record.Probed(m.Incarnation, began, h.clock.Mono(), err)
	h.reach.mu.Unlock()
	h.noteApart(record)
}

// noteApart reports the members that this one cannot reach to the leader, if they have changed.
func (h *Host) noteApart(record *leader.Reach) {
	h.reach.mu.Lock()
	apart := record.Apart()
	news := record == h.reach.record && !slices.Equal(apart, h.reach.apart)
	if news {
		h.reach.apart = apart
	}
	h.reach.mu.Unlock()
	if !news {
		return
	}
	if len(apart) > 0 {
		h.log.Warn("members not reached", "members_apart", apart, "advice", "the leader reaches both sides, and places partitions accordingly: restore the network between these members")
	} else {
		h.log.Info("every member is reached again")
	}
	if r := h.reports.Load(); r.unreach(apart) {
		h.life.Background(func(ctx context.Context) { h.reportAllHeld(ctx, r) })
	}
}
