package host

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// removals limits an owner's concurrent destroys for one request.
const removals = 32

// Unused returns a page of the unused sequencers in partitions owned by this member. It omits
// partitions that do not reply before ctx ends.
func (h *Host) Unused(ctx context.Context, in wire.UnusedRequest) (out wire.UnusedResponse) {
	var rows []wire.UnusedRow
	for _, o := range h.running() {
		some, err := look(ctx, o, func(v partition.View) ([]partition.UnusedName, error) {
			return o.machine.UnusedNames(v, in.Prefix, in.After, in.Unused(), in.Limit+1)
		})
		if err != nil {
			continue
		}
		out.Listed = append(out.Listed, o.id)
		for _, u := range some {
			rows = append(rows, wire.UnusedRow{Name: u.Name, UnusedFor: u.For.Milliseconds(), Owner: h.self})
		}
	}
	slices.SortFunc(rows, func(a, b wire.UnusedRow) int { return strings.Compare(a.Name, b.Name) })
	if len(rows) > in.Limit {
		rows = rows[:in.Limit]
		out.Next = rows[in.Limit-1].Name
	}
	out.Sequencers = rows
	return out
}

// RemoveUnused destroys sequencers in partitions owned by this member, each only if it is still
// unused.
func (h *Host) RemoveUnused(ctx context.Context, in wire.UnusedRequest) []wire.UnusedRow {
	rows := make([]wire.UnusedRow, len(in.Names))
	turns := make(chan struct{}, removals)
	var wg sync.WaitGroup
	for i, name := range in.Names {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			rows[i] = wire.UnusedRow{Name: name, Owner: h.self}
			if err := h.removeUnused(ctx, name, in); err != nil {
				rows[i].Error = err.Error()
			} else {
				rows[i].Removed = true
			}
		})
	}
	wg.Wait()
	return rows
}

func (h *Host) removeUnused(ctx context.Context, name string, in wire.UnusedRequest) error {
	err := api.CheckName(name)
	if err == nil {
		_, _, err = askOwner(ctx, h, name, func(o *partition.Machine, v partition.View, reply func(struct{}, error)) {
			o.DestroyUnused(v, name, in.Unused(), nothing(reply))
		})
	}
	h.cfg.Audit.Write(audit.Entry{Action: audit.Destroy, Name: name, Who: in.AskedBy, Err: err})
	return err
}
