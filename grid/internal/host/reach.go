package host

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// An owner probes members that do not acknowledge updates, and reports the unreachable ones to the
// leader: see [leader.Reach]. Nothing runs while updates are acknowledged in time.

type reach struct {
	mu      sync.Mutex // guards the fields below; never held while waiting
	record  *leader.Reach
	apart   []roster.Incarnation // by the record
	looking bool                 // the record is stepped
	armed   bool                 // a look at the updates is due after leader.DoubtAfter
}

// reacher probes members, and reports those out of reach and partitions' replicas to the leader.
type reacher struct {
	*deps
	reach   reach
	reports atomic.Pointer[reports]
}

// Unreached returns the members that do not answer this one while others do, sorted.
func (c *reacher) Unreached() []roster.Incarnation {
	c.reach.mu.Lock()
	defer c.reach.mu.Unlock()
	return c.reach.apart
}

func (c *reacher) sent(u update, now time.Duration) {
	c.counts.unacknowledged.sent(u, now)
	c.reach.mu.Lock()
	begin := !c.reach.armed && !c.reach.looking
	c.reach.armed = c.reach.armed || begin
	c.reach.mu.Unlock()
	if begin {
		c.life.Background(c.lookLater)
	}
}

// lookLater doubts replicas that have not acknowledged an update for long, as long as updates are on their
// way.
func (c *reacher) lookLater(ctx context.Context) {
	for {
		signal.Sleep(ctx, leader.DoubtAfter)
		ages := c.counts.unacknowledged.ages(c.clock.Mono(), c.awaits())
		late := slices.DeleteFunc(slices.Collect(maps.Keys(ages)),
			func(of roster.Incarnation) bool { return ages[of] < leader.DoubtAfter })
		if len(late) == 0 && len(ages) > 0 && ctx.Err() == nil {
			continue
		}
		c.reach.mu.Lock()
		c.reach.armed = false
		c.reach.mu.Unlock()
		for _, of := range late {
			c.Doubt(of)
		}
		return
	}
}

// Doubt has a member looked at that may not be reached.
func (c *reacher) Doubt(of roster.Incarnation) {
	c.reach.mu.Lock()
	defer c.reach.mu.Unlock()
	c.reach.record.Doubt(of)
	if !c.reach.looking {
		c.reach.looking = c.life.Go(c.look)
	}
}

// look probes members in doubt until there are none, or the member ends.
func (c *reacher) look() {
	for c.ctx.Err() == nil && c.lookOnce() {
		signal.Sleep(c.ctx, leader.ReachEvery)
	}
}

// lookOnce takes a step, and reports whether another one is due.
func (c *reacher) lookOnce() bool {
	r, now := c.state.Roster(), c.clock.Mono()
	ages := c.counts.unacknowledged.ages(now, c.awaits())
	c.reach.mu.Lock()
	record := c.reach.record
	for of, age := range ages {
		if age >= leader.DoubtAfter {
			record.Doubt(of)
		}
	}
	probe := record.Step(now, r, c.leads(r))
	more := !record.Idle()
	c.reach.looking = more
	c.reach.mu.Unlock()
	c.noteApart(record)
	for _, of := range probe {
		m, _ := r.Member(of)
		c.life.Background(func(ctx context.Context) { c.probe(ctx, record, m) })
	}
	return more
}

func (c *reacher) leads(r *roster.Roster) roster.Incarnation {
	m, found := leader.MemberOf(r, leader.ServerID(c.raft.Node().Leader()))
	if !found || m.Incarnation == c.self {
		return ""
	}
	return m.Incarnation
}

func (c *reacher) probe(ctx context.Context, record *leader.Reach, m roster.Member) {
	ctx, cancel := context.WithTimeout(ctx, leader.ReachTimeout)
	defer cancel()
	began := c.clock.Mono()
	_, err := c.caller.Hello(ctx, m.API, m.Incarnation)
	c.reach.mu.Lock()
	record.Probed(m.Incarnation, began, c.clock.Mono(), err)
	c.reach.mu.Unlock()
	c.noteApart(record)
}

// noteApart reports the members that this one cannot reach to the leader, if they have changed.
func (c *reacher) noteApart(record *leader.Reach) {
	c.reach.mu.Lock()
	apart := record.Apart()
	news := record == c.reach.record && !slices.Equal(apart, c.reach.apart)
	if news {
		c.reach.apart = apart
	}
	c.reach.mu.Unlock()
	if !news {
		return
	}
	if len(apart) > 0 {
		c.log.Warn("members not reached", "members_apart", apart, "advice",
			"the leader reaches both sides, and places partitions accordingly: restore the network between these members")
	} else {
		c.log.Info("every member is reached again")
	}
	c.report(func(r *reports) { r.unreached = apart })
}
