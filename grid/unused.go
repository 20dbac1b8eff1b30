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
	in.Forwarded, in.AskedBy = true, api.WhoOf(ctx)
	list := in
	list.Remove = false
	pages, unreachable := o.askUnused(ctx, func(roster.Incarnation) (wire.UnusedRequest, bool) { return list, true })
	slices.Sort(unreachable)
	out := wire.UnusedResponse{Sequencers: []wire.UnusedRow{}, Unreachable: unreachable}
	var nexts []string
	for _, page := range pages {
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
	rows, next := o.host.Unused(ctx, in)
	return wire.UnusedResponse{Sequencers: rows, Next: next}
}

// askUnused sends requests to this member and to every member for which ask returns one.
func (o *overview) askUnused(ctx context.Context, ask func(roster.Incarnation) (wire.UnusedRequest,
	bool)) (pages []wire.UnusedResponse, unreachable []roster.Incarnation) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range o.state.Roster().Members {
		in, asked := ask(m.Incarnation)
		if !asked {
			continue
		}
		wg.Go(func() {
			var page wire.UnusedResponse
			var err error
			if m.Incarnation == o.self {
				page = o.unusedHere(ctx, in)
			} else {
				err = o.caller.CallWithin(ctx, api.ServeTimeout, m.API, m.Incarnation, wire.PathUnused, in, &page)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				unreachable = append(unreachable, m.Incarnation)
			} else {
				pages = append(pages, page)
			}
		})
	}
	wg.Wait()
	return pages, unreachable
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
	pages, _ := o.askUnused(ctx, func(inc roster.Incarnation) (wire.UnusedRequest, bool) {
		one := in
		one.Names = of[inc]
		return one, len(one.Names) > 0
	})
	for _, page := range pages {
		for _, row := range page.Sequencers {
			if to := at[row.Name]; to != nil {
				to.Removed, to.Error = row.Removed, row.Error
			}
		}
	}
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
