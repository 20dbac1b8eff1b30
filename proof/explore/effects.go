package explore

import (
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/backup"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// effects receives the machines' effects. It belongs to the running process, one at a time, so all
// machines share it.
type effects struct {
	lab     *lab
	process *process
	out     *outcome
}

func (e *effects) begin(p *process, out *outcome) { e.process, e.out = p, out }

// answered records a reply that has left.
func (e *effects) answered(a answer) { e.out.answers = append(e.out.answers, a) }

// Send implements partition.Member: the letter can be delivered at any time from here on.
func (e *effects) Send(d partition.Delivery) {
	p := e.process
	if !slices.Contains(p.busy, d.To) {
		p.busy = append(p.busy, d.To)
	}
	m := letter{from: p.self, to: d.To, update: d.Update}
	e.out.letters = append(e.out.letters, keep(&e.lab.letters, m))
}

// ReportHeld implements partition.Member.
func (e *effects) ReportHeld(h roster.Holding) { e.out.admission = []roster.Holding{h} }

// BecameOwner implements partition.Member. The owner gets no request until it has stopped waiting
// for holders' claims after a loss.
func (e *effects) BecameOwner(roster.PartitionID, roster.Term) { e.process.clock += learningPause }

// ReportEarlier implements partition.Member. No grid here has an earlier generation.
func (*effects) ReportEarlier(until clustertime.Tick) {
	panic(fmt.Sprintf("explore: an owner takes a grant that ends at %d for one of an earlier life of the grid", until))
}

// TellEnded implements partition.Member. Holders receive an end at any time, or never: their
// reaction is possible at any time anyway.
func (*effects) TellEnded([]attachment.HolderID, attachment.Ref) {}

// Expired implements partition.Member.
func (*effects) Expired(roster.PartitionID, partition.Tenant) {}

// Store implements partition.Member, like the methods below: no member has a disk.
func (*effects) Store(partition.Write) { panic("explore: a machine without a disk writes") }

// ReportStored implements partition.Member.
func (*effects) ReportStored(roster.Incarnation, backup.Position) {}

// ReportPersisted implements partition.Member.
func (*effects) ReportPersisted(roster.Persisted) {}

// Collect implements partition.Member.
func (*effects) Collect(partition.Collection) { panic("explore: a machine without disks collects") }

// DefinitionsCollected implements partition.Member.
func (*effects) DefinitionsCollected(roster.PartitionID, roster.MemberID, int) {}
