package host

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
)

// Sequencers returns a page of the sequencers in partitions owned by this member. It omits partitions
// that do not reply before ctx ends, and sequencers that the caller may not use.
func (h *Host) Sequencers(ctx context.Context, in wire.SequencersRequest) (out wire.SequencersResponse) {
	var names []string
	var named []roster.PartitionID // partitions that gave all their names; nil: Busiest
	may := security.Peer{Names: in.Names}.MayUse
	if in.Busiest {
		_, busiest := h.Usage()
		for _, used := range busiest {
			if may(used.Name) {
				names = append(names, used.Name)
			}
		}
	} else {
		var tables [][]string
		tables, named = Owned(ctx, h, func(_ roster.PartitionID, table *partition.Table, _ clustertime.Tick) []string {
			list := table.NamesThat
			if in.Destroyed {
				list = table.EndedThat
			}
			return list(may, in.Prefix, in.After, in.Limit+1)
		})
		names = slices.Sorted(slices.Values(slices.Concat(tables...)))
	}
	if len(names) > in.Limit {
		names = names[:in.Limit]
		out.Next = names[in.Limit-1] // which may have no row, if it was destroyed just now
	}
	out.Sequencers, out.Listed = h.rows(ctx, names, in.Destroyed)
	out.Listed = slices.DeleteFunc(out.Listed, func(id roster.PartitionID) bool {
		return !in.Busiest && !slices.Contains(named, id)
	})
	return out
}

// rows returns the rows for names from the owned tables, in the same order, and the partitions whose
// tables have every name.
func (h *Host) rows(ctx context.Context, names []string, destroyed bool) (out []wire.SequencerRow,
	whole []roster.PartitionID) {
	wanted := map[roster.PartitionID][]string{}
	rank := map[string]int{}
	partitions := len(h.state.Roster().Partitions)
	for i, name := range names {
		id := roster.PartitionOf(name, partitions)
		wanted[id] = append(wanted[id], name)
		rank[name] = i
	}
	tables, whole := Owned(ctx, h, func(id roster.PartitionID, table *partition.Table,
		_ clustertime.Tick) (rows []wire.SequencerRow) {
		for _, name := range wanted[id] {
			if ref, err := table.Open(name); err == nil && !destroyed {
				rows = append(rows, h.row(id, table, ref))
			} else if ref, ended := table.Ended(name); ended && destroyed {
				row := h.row(id, table, ref)
				row.Destroyed = true
				rows = append(rows, row)
			}
		}
		return rows
	})
	out = slices.Concat(tables...)
	slices.SortFunc(out, func(a, b wire.SequencerRow) int { return cmp.Compare(rank[a.Name], rank[b.Name]) })
	return out, whole
}

func (b *useBook) row(id roster.PartitionID, table *partition.Table, ref attachment.Ref) wire.SequencerRow {
	d, cfg := ref.Definition, ref.Definition.Config()
	used, recent := b.usage.recent(d.Name(), b.clock.Mono(), max(time.Minute, b.state.Roster().Settings.Window.Duration()))
	return wire.SequencerRow{
		Name: d.Name(), Epoch: cfg.Epoch.Time(), Exhausted: d.Exhausted(), Nodes: cfg.Nodes,
		Attached: table.Attached(d.Name()), Layout: cfg.Layout,
		NodeRange: wire.NodeRange(attachment.ShortConfig(d).NodeRange),
		Partition: id, Owner: b.self, IDs: used.IDs, Waits: used.Waits, Recent: recent,
	}
}

// Holders returns a page of a sequencer's holders; this member must own the partition.
//
// Errors: sequencer.ErrNotFound, roster.ErrWrongOwner, and sequencer.ErrUnavailable.
func (h *Host) Holders(ctx context.Context, in wire.HoldersRequest) (wire.HoldersResponse, error) {
	type found struct {
		ref      attachment.Ref
		attached []partition.Attached
	}
	f, _, err := askOwner(ctx, h, in.Name, func(o *partition.Machine, v partition.View, reply func(found, error)) {
		ref, attached, err := o.Holders(v, in.Name)
		reply(found{ref, attached}, err)
	})
	if err != nil {
		return wire.HoldersResponse{}, err
	}
	out := wire.HoldersResponse{Sequencer: in.Name, Owner: h.self, Nodes: f.ref.Nodes(),
		Attached: len(f.attached), Holders: []wire.HolderRow{}}
	for _, a := range f.attached {
		if in.After != nil && int(a.Node) <= *in.After {
			continue
		}
		if out.More = len(out.Holders) == in.Limit; out.More {
			break
		}
		row := wire.HolderRow{Node: a.Node, Holder: a.Holder.Short(), Shown: a.Ago.Milliseconds()}
		if known, found := h.book.of(a.Holder); found {
			row.Addr, row.Build, row.Labels = known.addr, known.about.Build, known.about.Labels
		}
		out.Holders = append(out.Holders, row)
	}
	return out, nil
}

type useBook struct {
	*deps
	book  holderBook
	usage usage
}

// noteHolder keeps the description that a holder gives of itself, unless it breaks a limit.
func (b *useBook) noteHolder(ctx context.Context, id attachment.HolderID, about *wire.About) {
	if about == nil || about.Check() != nil {
		about = &wire.About{}
	}
	b.book.note(b.clock.Mono(), id, holder{about: *about, addr: api.RemoteOf(ctx)})
}
