package grid

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// serveUnused replies with a page of all owners' unused sequencers, after their owners have removed
// them if that is requested. It omits sequencers that the caller may not use.
func (o *overview) serveUnused(ctx context.Context, in wire.UnusedRequest) (wire.UnusedResponse, error) {
	if err := in.Check(); err != nil {
		return wire.UnusedResponse{}, err
	}
	if in.Forwarded { // by a member, to an owner
		return o.unusedHere(ctx, in), nil
	}
	if len(o.state.Roster().Partitions) == 0 {
		return wire.UnusedResponse{}, errNotFormed()
	}
	in.Forwarded, in.AskedBy = true, api.WhoOf(ctx)
	list := in
	list.Remove = false
	g := gather(ctx, o.state.Roster, func(ctx context.Context, m roster.Member) (wire.UnusedResponse, covers, error) {
		page, err := o.requestUnused(ctx, m, list)
		return page, page.Listed, err
	})
	out := wire.UnusedResponse{Sequencers: []wire.UnusedRow{}}
	out.Unreachable, out.Unlisted = g.unreachable, g.unlisted
	var nexts []string
	for _, page := range g.replies {
		out.Sequencers = append(out.Sequencers, page.Sequencers...)
		nexts = append(nexts, page.Next)
	}
	out.Sequencers, out.Next = mergePages(out.Sequencers, nexts, in.Limit, func(r wire.UnusedRow) string { return r.Name })
	caller := api.PeerOf(ctx)
	out.Sequencers = slices.DeleteFunc(out.Sequencers, func(r wire.UnusedRow) bool { return !caller.MayUse(r.Name) })
	if in.Remove {
		o.removeUnused(ctx, in, out.Sequencers)
	}
	return out, nil
}

// unusedHere serves this owner's part.
func (o *overview) unusedHere(ctx context.Context, in wire.UnusedRequest) wire.UnusedResponse {
	if in.Remove {
		return wire.UnusedResponse{Sequencers: o.host.RemoveUnused(ctx, in)}
	}
	return o.host.Unused(ctx, in)
}

// requestUnused sends a request to a member, which may be this one.
func (o *overview) requestUnused(ctx context.Context, m roster.Member, in wire.UnusedRequest) (page wire.UnusedResponse,
	err error) {
	if m.Incarnation == o.self {
		return o.unusedHere(ctx, in), nil
	}
	err = o.caller.CallWithin(ctx, api.ServeTimeout, m.API, m.Incarnation, wire.PathUnused, in, &page)
	return page, err
}

// removeUnused has the owners remove a page's sequencers, and notes the outcome in its rows.
func (o *overview) removeUnused(ctx context.Context, in wire.UnusedRequest, rows []wire.UnusedRow) {
	of := map[roster.Incarnation][]string{}
	at := map[string]*wire.UnusedRow{}
	for i := range rows {
		rows[i].Error = "its owner has not answered; it may be removed"
		of[rows[i].Owner] = append(of[rows[i].Owner], rows[i].Name)
		at[rows[i].Name] = &rows[i]
	}
	var mu sync.Mutex // guards rows
	var wg sync.WaitGroup
	for _, m := range o.state.Roster().Members {
		one := in
		if one.Names = of[m.Incarnation]; len(one.Names) == 0 {
			continue
		}
		wg.Go(func() {
			page, _ := o.requestUnused(ctx, m, one)
			mu.Lock()
			defer mu.Unlock()
			for _, row := range page.Sequencers {
				if to := at[row.Name]; to != nil {
					to.Removed, to.Error = row.Removed, row.Error
				}
			}
		})
	}
	wg.Wait()
}

// mergePages merges several owners' pages into one: the first rows by name, each name once. An
// owner with further rows gave its page's last name as next; no row beyond that may be on the
// merged page, since the owner's rows may come before it.
func mergePages[R any](rows []R, nexts []string, limit int, name func(R) string) (page []R, next string) {
	slices.SortFunc(rows, func(a, b R) int { return strings.Compare(name(a), name(b)) })
	// During a move, both owners may list a partition.
	rows = slices.CompactFunc(rows, func(a, b R) bool { return name(a) == name(b) })
	for _, n := range nexts {
		if n != "" && (next == "" || n < next) {
			next = n
		}
	}
	if next != "" {
		rows = slices.DeleteFunc(rows, func(r R) bool { return name(r) > next })
	}
	if len(rows) > limit {
		rows = rows[:limit]
		next = name(rows[limit-1])
	}
	return rows, next
}
