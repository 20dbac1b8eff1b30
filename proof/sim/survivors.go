package sim

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/recovery"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// initialize picks a survivor, which requests the others that gossip sees to leave the grid. If all
// have left, they form another grid.
func (op *operator) initialize() {
	var able []*member
	for _, m := range op.g.running() {
		switch {
		case m.seat.durable: // no directory has a log: the operator gives each of these an empty one
			op.lose(m.seat)
		case m.until <= op.g.w.now && m.survives() && !m.leaving:
			able = append(able, m)
		}
	}
	again := func() { op.g.w.after(2*time.Second, op.operate) }
	if len(able) == 0 {
		again()
		return
	}
	m := pick(op.g.w, able)
	next := roster.GridID(op.g.w.bits())
	var told []recovery.Bounds
	others := slices.DeleteFunc(able, func(o *member) bool { return o == m || !op.g.gossips(m, o) })
	waiting := len(others)
	answered := func() {
		switch {
		case waiting > 0:
		case len(told) < len(others) || !m.alive || m.until > op.g.w.now:
			again()
		default:
			op.formAgain(m, next, told)
		}
	}
	for _, o := range others {
		call(&m.process, &o.process, abandonTime, func(reply func(recovery.Bounds)) { reply(o.abandon(next).bounds()) },
			func(b recovery.Bounds, err error) {
				if err == nil {
					told = append(told, b)
				}
				waiting--
				answered()
			})
	}
	answered()
}

// abandonTime bounds a survivor's reply.
const abandonTime = 6 * time.Second

// survives reports whether a member has been in an earlier grid.
func (m *member) survives() bool { return m.roster.Formed() || !m.left.Grid.IsZero() }

// hasLog reports whether a seat has a data directory with a log for the grid that begins at an
// index.
func (s *seat) hasLog(first int) bool { return s.durable && s.index >= first }

// abandon ends a member's part in its grid, and returns a member with the same address and
// incarnation that waits for the next grid.
func (m *member) abandon(next roster.GridID) *member {
	if !m.roster.Formed() {
		m.next = next
		return m
	}
	latest := m.Now()
	for _, h := range m.g.holders {
		if h.within == m {
			latest = max(latest, h.Now())
		}
	}
	left := m.left.Leave(m.roster.Grid, m.roster, latest, m.roster.Settings)
	m.resign()
	m.alive = false
	m.g.brokenStreams(m)
	n := m.g.startAs(m.seat, m.inc)
	n.left, n.next = left, next
	for _, h := range m.g.holders {
		if h.within == m {
			h.within = n
		}
	}
	return n
}

// bounds returns a survivor's bounds.
func (m *member) bounds() recovery.Bounds {
	b := m.left.Bounds
	b.Wall = m.Wall()
	return b
}

// formAgain forms a grid from survivors.
func (op *operator) formAgain(m *member, next roster.GridID, told []recovery.Bounds) {
	before, floor := op.g.agreed.newest(), clustertime.Tick(0)
	if op.g.w.chance(0.3) { // the operator provides the true end of all grants
		floor = before.Ceiling
	}
	m = m.abandon(next)
	own := m.left
	own.Bounds = m.bounds()
	form, _ := recovery.FromMemory(next, own, told, op.g.anchor != nil, floor)
	op.g.counts.Initialized++
	clear(op.g.lost)
	for id := range before.Partitions {
		op.g.promises.void(roster.PartitionID(id))
	}
	op.begin([]roster.Command{{Form: &form}}, true)
	op.g.agreed.servers = []server{serverOf(m, true)}
	op.g.expect = 1 + len(told)
	m.learn(len(op.g.agreed.log) - 1)
	op.finish(2)
}
