package host

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// actor runs this member's part in one partition: one goroutine that has the machine
// serve one request after the other, each with the newest roster that this member
// knows. It serves one grid: it ends when the member leaves that.
type actor struct {
	host    *Host
	tenure  *tenure.Tenure
	id      roster.PartitionID
	machine *partition.Machine
	partial partial

	inbox chan func(v partition.View)
	nudge chan struct{} // the roster says something new

	census atomic.Pointer[partition.Census] // of the table while this is the owner
}

// inboxSize bounds the requests that wait for one partition.
const inboxSize = 256

func newActor(h *Host, id roster.PartitionID) *actor {
	o := &actor{
		host: h, tenure: h.life.Tenure(), id: id,
		inbox: make(chan func(partition.View), inboxSize),
		nudge: make(chan struct{}, 1),
	}
	o.machine = partition.New(id, h.self, h.clock.Mono(), o)
	h.names.tables.Store(id, &o.census)
	return o
}

// view returns the present state of this member.
func (h *Host) view() partition.View {
	return partition.View{Roster: h.state.Roster(), Time: h.clock.Now(), Mono: h.clock.Mono(), Ended: h.state.Ended.Load()}
}

// stampOf returns the stamp of an owner's answers.
func stampOf(v partition.View) wire.Stamp {
	return wire.Stamp{Grid: v.Roster.Identity(), Version: v.Roster.Version, Time: v.Bounds().Now}
}

// run serves requests until ctx ends.
func (o *actor) run(ctx context.Context) {
	defer o.machine.Fail(roster.ErrWrongOwner)
	defer o.census.Store(nil)
	ticker := time.NewTicker(partition.TickEvery)
	defer ticker.Stop()
	for {
		v := o.host.view()
		o.machine.Observe(v)
		o.count(v)
		var tick <-chan time.Time
		if o.machine.Ticks() {
			tick = ticker.C
		}
		select {
		case <-ctx.Done():
			return
		case f := <-o.inbox:
			f(o.host.view())
		case <-o.nudge:
		case <-tick:
			o.machine.Tick(o.host.view())
		}
	}
}

// TellEnded implements partition.Member.
func (o *actor) TellEnded(holders []sequencer.HolderID, ref sequencer.Ref) {
	o.host.events.Publish(holders, wire.Event{Name: ref.Definition.Name(), Life: ref.Life})
}

// ReportEarlier implements partition.Member.
func (o *actor) ReportEarlier(until clustertime.Tick) { o.host.cfg.ReportEarlier(until) }

// BecameOwner implements partition.Member.
func (o *actor) BecameOwner(id roster.PartitionID, term roster.Term) {
	o.host.log.Debug("became owner", "partition", id, "term", term)
}

// Expired implements partition.Member.
func (o *actor) Expired(id roster.PartitionID, t partition.Tenant) {
	o.host.log.Info("session ended; its logical node is free again",
		"partition", id, "sequencer", t.Name, "node", t.Node, "holder", t.Holder.Short())
}
