package sim

import (
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// checkConflicts requires that an existing name cannot be created again with another epoch: its IDs
// could be equal.
func (g *grid) checkConflicts() {
	for _, def := range g.names {
		p := g.promises.byName[def.Name()]
		if p.at == 0 || g.promises.doomed[p.ref.Life] {
			continue
		}
		err := g.createOther(def)
		if err == nil {
			g.fail("D2: %q was created again with another epoch, and life %v was answered %v before", def.Name(), p.ref.Life,
				g.w.now-p.at)
			return
		}
	}
}

// createOther tries to create a name with another epoch at its owner, and returns the result.
func (g *grid) createOther(def sequencer.Definition) (err error) {
	cfg := def.Config()
	cfg.Epoch = epoch.UnixMilli(cfg.Epoch.UnixMilli() - 86_400_000)
	other, err := sequencer.Define(def.Name(), cfg)
	if err != nil {
		panic(err)
	}
	id := roster.PartitionOf(def.Name(), g.cfg.Partitions)
	m := g.members[g.agreed.newest().Partitions[id].Owner]
	err = errTimeout
	askOwner(m, def.Name(), func(o *actor, v partition.View, reply func(attachment.Ref, error)) {
		o.machine.Create(v, attachment.Ref{Definition: other, Life: g.newLife(m)}, reply)
	}, func(a answer[attachment.Ref]) { err = a.err })
	g.w.run(g.w.now + 2*time.Second)
	return err
}
