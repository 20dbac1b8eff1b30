package formation

import (
	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/recovery"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// A recovery takes the definitions from the directories that are given: see package recovery.

func (d *recoverDir) openDefinitions() (err error) {
	d.definitions, err = definitions.Open(d.path, d.id.Member)
	if err != nil {
		return refusal.Invalid("recover: %v; omit the directory, and give its member with --lost", err)
	}
	if grid := d.definitions.Grid(); d.plan == nil && !grid.IsZero() && grid != d.id.Grid {
		return refusal.Invalid(
			"recover: %s has definitions from grid %s and an identity from grid %s; restore the files that belong together",
			d.path, grid, gridName(d.id.Grid))
	}
	return nil
}

func (d *recoverDir) close() {
	if d.definitions != nil {
		_ = d.definitions.Close()
	}
	_ = d.stores.Close()
}

// contents returns the content of the directory, with the positions of that many partitions.
func (d *recoverDir) contents(partitions int) (recovery.Directory, error) {
	out := recovery.Directory{
		Member: d.id.Member, Roster: d.roster, Servers: raftlog.ServersOf(d.servers), Term: d.last.Term, Index: d.last.Index,
		Definitions: map[roster.PartitionID]definitions.Position{},
	}
	for id := range roster.PartitionID(partitions) {
		at, found, err := d.definitions.Position(id)
		if err != nil {
			return out, refusal.Invalid("recover: %v", err)
		}
		if found {
			out.Definitions[id] = at
		}
	}
	return out, nil
}

// adoptDefinitions assigns the definitions to the new grid.
func (p *recoverPlan) adoptDefinitions(d *recoverDir) error {
	return d.definitions.Adopt(p.Grid)
}
