package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Members that do not reach each other, while the leader reaches both. Each member drives a
// leader.Reach, as in package grid.

// doubt starts probes to a member that has not acknowledged an update.
func (m *member) doubt(of roster.Incarnation) {
	idle := m.reach.Idle()
	if m.reach.Doubt(of); idle {
		m.look()
	}
}

// look probes members in doubt until none remain.
func (m *member) look() {
	leads := roster.Incarnation("")
	if m.leader != nil && m.leader != m {
		leads = m.leader.inc
	}
	for _, of := range m.reach.Step(m.Mono(), m.roster, leads) {
		began := m.Mono()
		callPeer(m, m.g.members[of], leader.ReachTimeout,
			func(reply func(struct{})) { reply(struct{}{}) },
			func(_ struct{}, err error) { m.reach.Probed(of, began, m.Mono(), err) })
	}
	if m.reach.Idle() {
		return
	}
	if apart := m.reach.Apart(); len(apart) > 0 && m.leader != nil && m.w.now >= m.reported+time.Second {
		m.reported = m.w.now
		m.report(m.leader, leader.Report{Owner: m.inc})
	}
	m.after(leader.ReachEvery, m.look)
}

// apartLimit is the longest permitted time for a create while two followers do not reach each
// other.
const apartLimit = 8 * time.Second

// checkApart cuts the connection between two followers that the leader reaches, and requires a
// timely reply to a create in every partition that they share.
func (g *grid) checkApart() {
	lead := g.agreed.leader
	r := g.agreed.newest()
	var pair []*member
	for _, m := range g.running() {
		if _, in := r.Member(m.inc); in && m != lead && !m.leaving && !m.old {
			pair = append(pair, m)
		}
	}
	if lead == nil || len(pair) < 2 {
		return
	}
	a, b := pair[0], pair[1]
	cut := [][2]int{{a.place, b.place}, {b.place, a.place}}
	for _, c := range cut[:1+g.w.rng.IntN(2)] {
		g.w.net.cut[c] = g.w.now + time.Hour
	}
	waiting := 0
	for id, p := range r.Partitions {
		if slices.Contains(p.InSync, a.inc) && slices.Contains(p.InSync, b.inc) && p.Owner != lead.inc {
			waiting++
			g.createApart(roster.PartitionID(id), func() { waiting-- })
		}
	}
	for until := g.w.now + apartLimit; waiting > 0 && g.w.now < until && g.failed == nil; {
		g.w.run(g.w.now + 100*time.Millisecond)
	}
	if waiting > 0 {
		g.fail("%d creates are not answered %v after members %s and %s are cut from each other; leader %s", waiting,
			apartLimit, a.name, b.name, lead.name)
	}
	clear(g.w.net.cut)
	g.w.run(g.w.now + 30*time.Second)
}

// createApart creates a name in a partition, and retries at the current owner until it succeeds.
func (g *grid) createApart(id roster.PartitionID, done func()) {
	name := ""
	for n := 0; name == "" || roster.PartitionOf(name, g.cfg.Partitions) != id; n++ {
		name = fmt.Sprint("apart ", n)
	}
	def, err := sequencer.Define(name, sequencer.Config{Nodes: 128})
	if err != nil {
		panic(err)
	}
	answered := false
	var try func()
	try = func() {
		if answered || g.failed != nil {
			return
		}
		if m := g.members[g.agreed.newest().Partitions[id].Owner]; m != nil && m.alive {
			askOwner(m, name, func(o *actor, v partition.View, reply func(attachment.Ref, error)) {
				o.machine.Create(v, attachment.Ref{Definition: def, Life: g.newLife(m)}, reply)
			}, func(a answer[attachment.Ref]) {
				if a.err == nil && !answered {
					answered = true
					done()
				}
			})
		}
		g.w.after(time.Second, try)
	}
	try()
}
