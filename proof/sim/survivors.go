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
func (g *grid) initialize() {
	var able []*member
	for _, m := range g.running() {
		switch {
		case m.seat.durable: // no directory has a log: the operator gives each of these an empty one
			g.lose(m.seat)
		case m.until <= g.w.now && m.survives() && !m.leaving:
			able = append(able, m)
		}
	}
	again := func() { g.w.after(2*time.Second, g.operate) }
	if len(able) == 0 {
		again()
		return
	}
	m := pick(g.w, able)
	next := roster.GridID(g.w.bits())
	var told []recovery.Bounds
	others := slices.DeleteFunc(able, func(o *member) bool { return o == m || !g.gossips(m, o) })
	waiting := len(others)
	answered := func() {
		switch {
		case waiting > 0:
		case len(told) < len(others) || !m.alive || m.until > g.w.now:
			again()
		default:
			g.formAgain(m, next, told)
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
func (g *grid) formAgain(m *member, next roster.GridID, told []recovery.Bounds) {
	before, floor := g.agreed.newest(), clustertime.Tick(0)
	if g.w.chance(0.3) { // the operator provides the true end of all grants
		floor = before.Ceiling
	}
	m = m.abandon(next)
	own := m.left
	own.Bounds = m.bounds()
	form, _ := recovery.FromMemory(next, own, told, g.anchor != nil, floor)
	g.counts.Initialized++
	clear(g.lost)
	for id := range before.Partitions {
		g.void(roster.PartitionID(id))
	}
	g.begin([]roster.Command{{Form: &form}}, true)
	g.agreed.servers = []server{serverOf(m, true)}
	g.expect = 1 + len(told)
	m.learn(len(g.agreed.log) - 1)
	g.finish(2)
}
