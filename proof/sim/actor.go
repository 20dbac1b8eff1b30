package sim

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// actor drives a member's machine for one partition, like the actor in package grid, but without a
// goroutine.
type actor struct {
	m       *member
	id      roster.PartitionID
	machine *partition.Machine
	shown   map[attachment.ID]shown // for the baseline Reuse
}

func newActor(m *member, id roster.PartitionID) *actor {
	o := &actor{m: m, id: id}
	if m.g.cfg.Baseline == Reuse {
		o.shown = map[attachment.ID]shown{}
	}
	o.machine = partition.New(id, m.inc, m.Mono(), o)
	o.machine.KeepTombstones(1)
	return o
}

// view returns the member's current view.
func (m *member) view() partition.View {
	v := partition.View{Roster: m.roster, Time: m.Now(), Mono: m.Mono(), Ended: m.ended}
	if m.g.cfg.Baseline == Quorum { // each member decides alone
		own := *m.roster
		own.Ceiling = m.Now().Add(own.Settings.Window)
		v.Roster = &own
	}
	return v
}

// tick passes elapsed time to the machine.
func (o *actor) tick() {
	if o.shown != nil {
		o.reuse()
	}
	if o.machine.Ticks() {
		o.machine.Tick(o.m.view())
	}
}

// Send implements partition.Member.
func (o *actor) Send(d partition.Delivery) {
	peer := o.m.g.members[d.To]
	u := o.part(d.Update)
	callPeer(o.m, peer, time.Second,
		func(reply func(delivered)) {
			peer.parked(u.Position.Term, partition.ParkTime, func() {
				if int(o.id) >= len(peer.roster.Partitions) {
					return // the peer has no roster yet
				}
				holds, err := peer.actorOf(o.id).machine.Accept(peer.view(), u)
				reply(delivered{holds, err})
			})
		},
		func(res delivered, err error) {
			if err == nil {
				err = res.err
			}
			if err != nil {
				o.m.doubt(d.To)
				o.m.after(d.Pause, func() { o.machine.Delivered(o.m.view(), d, partition.Holds{}, err) })
				return
			}
			o.m.parked(max(res.holds.Newest, res.holds.Held.Term), partition.ParkTime, func() {
				pause := time.Duration(0)
				if res.holds.NotYet {
					pause = partition.NotYetPause
				}
				o.m.after(pause, func() { o.machine.Delivered(o.m.view(), d, res.holds, nil) })
			})
		})
}

// parkedEvery is the interval at which a parked call checks the roster.
const parkedEvery = 10 * time.Millisecond

// parked calls a function when the member's roster has reached a term, or after a time limit.
func (m *member) parked(term roster.Term, limit time.Duration, then func()) {
	if partition.Shows(m.roster, term) || limit <= 0 {
		then()
		return
	}
	m.after(parkedEvery, func() { m.parked(term, limit-parkedEvery, then) })
}

// delivered is a replica's reply.
type delivered struct {
	holds partition.Holds
	err   error
}

// part drops the last changes from an update at times, as a limit on the request size would.
func (o *actor) part(u partition.Update) partition.Update {
	if n := len(u.Changes); n > 1 && o.m.w.chance(0.2) {
		u.Changes = u.Changes[:1+o.m.w.rng.IntN(n-1)]
		u.Position.Number = u.Since + uint64(len(u.Changes))
	}
	return u
}

// TellEnded implements partition.Member.
func (o *actor) TellEnded(holders []attachment.HolderID, ref attachment.Ref) {
	for _, id := range holders {
		o.m.tellEnded(id, ref)
	}
}

// ReportHeld implements partition.Member.
func (o *actor) ReportHeld(h roster.Holding) { o.m.reportHeld(o, h) }

// ReportEarlier implements partition.Member. It fails the run: no simulated grid has an earlier
// life.
func (o *actor) ReportEarlier(until clustertime.Tick) {
	o.m.g.fail("an owner takes a grant that ends at %d for one of an earlier life of the grid", until)
}

// BecameOwner implements partition.Member.
func (o *actor) BecameOwner(id roster.PartitionID, term roster.Term) {
	o.m.w.note(becameOwner, o.m.name, int64(id), int64(term))
}

// Expired implements partition.Member.
func (o *actor) Expired(id roster.PartitionID, t partition.Tenant) {
	o.m.g.freed(t.Name, t.Node)
	o.m.w.note(expired, o.m.name, int64(id), int64(t.Node))
}
