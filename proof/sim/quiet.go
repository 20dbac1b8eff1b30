package sim

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/partition"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// slack is the longest time until an ID, in addition to a window, without faults.
const slack = 30*time.Second + clustertime.JumpAgreement

// play runs the grid, first with faults and then without.
func (g *grid) play() {
	const step = time.Second
	for g.w.now < g.cfg.Length && g.failed == nil {
		g.w.run(g.w.now + step)
	}
	if g.failed != nil {
		return
	}
	g.settle()
	began := g.w.now
	bound := g.cfg.Window.Duration() + slack
	r := g.agreed.newest()
	if g.cfg.Recoveries > 0 {
		g.operator.completeRecovery()
		r = g.agreed.newest()
		bound += max(0, r.Ceiling.Sub(firstWall.Add(clustertime.SpanOf(g.w.now))).Duration())
	}
	if g.anchor != nil { // a rival may hold it, and each one has moved the ceiling further ahead of the clocks
		now := cmp.Or(r.Time, firstWall.Add(clustertime.SpanOf(g.w.now)))
		bound += 4*anchorAhead + max(0, max(r.Ceiling, g.anchor.record.Ceiling).Sub(now).Duration())
	}
	for g.w.now < began+bound && g.failed == nil {
		g.w.run(g.w.now + step)
	}
	if g.cfg.Baseline != Real || g.failed != nil {
		return
	}
	g.checkLive(began)
	g.check(g.checkLeft())
	if g.failed == nil {
		g.checkApart()
	}
	g.checkReplicas()
	if g.failed == nil {
		g.checkConflicts()
	}
}

// settle ends all faults: all members run, reach each other, and have a correct clock.
func (g *grid) settle() {
	g.calm, g.w.net.calm = true, true
	if g.anchor != nil {
		g.anchor.away, g.anchor.rival = 0, 0
	}
	clear(g.w.net.cut)
	clear(g.alarms)
	for _, m := range g.running() {
		if m.broken { // an operator restarts it, on a disk that works
			g.crash(m)
		}
	}
	for _, s := range g.seats {
		if s.durable && s.running == nil {
			g.start(s)
		}
	}
	for g.staying() < g.expect && !g.agreed.newest().Assigned() { // the bootstrap requires this many
		g.start(g.addSeat(false))
	}
	for _, m := range g.running() {
		m.run(0)
		m.wall = m.wall.Add(-g.skew[m.place])
	}
	clear(g.skew)
	g.upgradeAll()
	g.giveUpAll()
	for _, h := range g.holders {
		h.run(0)
	}
	for _, p := range g.generators {
		p.run(0)
	}
	g.w.note(quiet, "", int64(len(g.running())), int64(len(g.holders)))
}

// staying returns the number of running members that are not leaving.
func (g *grid) staying() (n int) {
	for _, m := range g.running() {
		if !m.leaving {
			n++
		}
	}
	return n
}

// checkLive requires a new ID from every handle and every generator.
func (g *grid) checkLive(since time.Duration) {
	for _, h := range g.holders {
		for _, e := range h.entries {
			if gone := g.cfg.Ends && e.name == 0; e.made <= since && !gone {
				state := "no handle"
				if e.handle != nil {
					held, _ := e.control.Held()
					state = fmt.Sprintf("%v at cluster time %d, %+v", e.handle.State(), h.Now(), held)
				}
				g.fail("holder %s made no ID of %q for %v after all faults had ended: %s%s",
					h.name, e.def.Name(), g.w.now-since, state, g.leadersViews())
				return
			}
		}
	}
	for _, p := range g.generators {
		if gone := p.ends || g.cfg.Ends && p.index == 0; p.made <= since && !gone {
			g.fail("generator %s made no ID of %q for %v after all faults had ended: %v", p.name, p.def.Name(),
				g.w.now-since, p.machine)
			return
		}
	}
}

// leadersViews describes each leader's anchor status, for messages.
func (g *grid) leadersViews() (out string) {
	for _, m := range g.running() {
		if m.lead == nil {
			continue
		}
		m.lead.do(func(machine *leader.Leader, v leader.View) {
			if s, anchored := machine.AnchorStatus(v); anchored {
				out += fmt.Sprintf("; leader %s: anchor %s, limit %d, record %+v, cluster time %d, ceiling %d", m.name, s.State,
					s.Limit, s.Record, v.Roster.Time, v.Roster.Ceiling)
			}
		})
	}
	return out
}

// checkLeft requires that every leaving member has left, if another stays.
func (g *grid) checkLeft() error {
	stays := slices.ContainsFunc(g.running(), func(m *member) bool {
		_, in := g.agreed.newest().Member(m.inc)
		return in && !m.leaving
	})
	for _, m := range g.running() {
		if m.leaving && stays {
			return fmt.Errorf("votes: member %s has not been let go; leader %s, servers %s", m.name,
				g.agreed.leader.name, g.agreed)
		}
	}
	return nil
}

// checkReplicas requires that all intended replicas get in sync, and are equal at some moment soon:
// messages in transit have to arrive.
func (g *grid) checkReplicas() {
	var last error
	for range 600 {
		if last = g.replicas(); last == nil {
			return
		}
		g.w.run(g.w.now + 100*time.Millisecond)
	}
	g.check(last)
}

func (g *grid) replicas() error {
	r := g.agreed.newest()
	if r.Joining() > 0 || len(r.Unsettled) > 0 {
		return fmt.Errorf("%d replicas are not in sync yet, and these members not settled: %v", r.Joining(), r.Unsettled)
	}
	for id, p := range r.Partitions {
		own := g.members[p.Owner].actors[roster.PartitionID(id)]
		if own == nil || !own.machine.Acts() {
			return fmt.Errorf("partition %d: its owner %s does not act", id, p.Owner)
		}
		want := withoutEnds(own.machine.Table().Snapshot())
		for _, inc := range p.InSync {
			o := g.members[inc].actors[roster.PartitionID(id)]
			if o == nil || o.machine.Position() != own.machine.Position() {
				return fmt.Errorf("partition %d: replica %s is not where owner %s is", id, inc, p.Owner)
			}
			if have := withoutEnds(o.machine.Table().Snapshot()); !reflect.DeepEqual(have, want) {
				return fmt.Errorf("partition %d: replica %s holds\n%+v, and owner %s\n%+v", id, inc, have, p.Owner, want)
			}
		}
	}
	return g.checkDiscarded(r)
}

// withoutEnds removes the part that may differ between replicas: the ends of grants on assigned
// nodes. The next owner replaces them with its floor.
func withoutEnds(s partition.TableState) partition.TableState {
	for i := range s.Records {
		slots := s.Records[i].Slots
		for j := range slots {
			if !slots[j].ID.IsZero() {
				slots[j].Free = 0
			}
		}
		slices.SortFunc(slots, func(a, b partition.SlotState) int { return cmp.Compare(a.Node, b.Node) })
		if len(slots) == 0 {
			s.Records[i].Slots = nil
		}
	}
	return s
}
