package grid

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// listingCalls are the calls that list parts of the whole grid, a page at a time.
func (o *overview) listingCalls() []*api.Call {
	return []*api.Call{
		api.AlsoGet(api.Typed(wire.PathSequencers, o.serveSequencers).WithLargeAnswer(), sequencersQuery),
		api.Typed(wire.PathUnused, o.serveUnused).WithLargeAnswer(),
		api.AlsoGet(api.Typed(wire.PathHolders, o.serveHolders).WithLargeAnswer(), holdersQuery),
	}
}

// sequencersQuery parses the query of GET /v1/sequencers.
func sequencersQuery(q url.Values) (in wire.SequencersRequest, err error) {
	in.Prefix, in.After = q.Get("prefix"), q.Get("after")
	var errBusiest, errDestroyed error
	in.Busiest, errBusiest = api.QueryFlag(q, "busiest")
	in.Destroyed, errDestroyed = api.QueryFlag(q, "destroyed")
	in.Limit, err = api.QueryInt(q, "limit")
	return in, cmp.Or(err, errBusiest, errDestroyed, api.CheckQuery(q, "prefix", "after", "limit", "busiest", "destroyed"))
}

// holdersQuery parses the query of GET /v1/holders.
func holdersQuery(q url.Values) (in wire.HoldersRequest, err error) {
	in.Name = q.Get("name")
	if q.Has("after") {
		var after int
		after, err = api.QueryInt(q, "after")
		in.After = &after
	}
	if err == nil {
		in.Limit, err = api.QueryInt(q, "limit")
	}
	return in, cmp.Or(err, api.CheckQuery(q, "name", "after", "limit"))
}

// serveSequencers answers with a page of the sequencers of all owners. Each member sends its
// first ones, so that no answer is larger than a page.
func (o *overview) serveSequencers(ctx context.Context, in wire.SequencersRequest) (wire.SequencersResponse, error) {
	var none wire.SequencersResponse
	if err := in.Check(); err != nil {
		return none, err
	}
	if own := api.PeerOf(ctx).Names; len(own) > 0 {
		in.Names = own
	}
	if in.Local {
		return o.host.Sequencers(ctx, in), nil
	}
	if err := o.statuses.enter(ctx); err != nil {
		return none, err
	}
	if len(o.state.Roster().Partitions) == 0 {
		return none, errNotFormed()
	}
	ctx, cancel := context.WithTimeout(ctx, api.MemberTimeout)
	defer cancel()
	local := in
	local.Local = true
	g := gather(ctx, o.state.Roster, func(ctx context.Context, m roster.Member) (wire.SequencersResponse, covers, error) {
		page, err := o.requestSequencers(ctx, m, local)
		return page, page.Listed, err
	})
	var rows []wire.SequencerRow
	var nexts []string
	for _, page := range g.replies {
		rows, nexts = append(rows, page.Sequencers...), append(nexts, page.Next)
	}
	out := pageOf(rows, nexts, in)
	out.Names = api.PeerOf(ctx).Names
	out.Unreachable, out.Unlisted = g.unreachable, g.unlisted
	names := o.uniqueNames()
	for i := range out.Sequencers {
		out.Sequencers[i].OwnerName = names[out.Sequencers[i].Owner]
	}
	return out, nil
}

// errNotFormed returns the error of a list from a member whose grid has no partitions, or no owners yet.
func errNotFormed() error {
	return failure.Errorf(sequencer.ErrUnavailable, "grid: the grid is not formed yet; see GET /readyz?verbose")
}

func (o *overview) requestSequencers(ctx context.Context, m roster.Member,
	in wire.SequencersRequest) (page wire.SequencersResponse, err error) {
	if m.Incarnation == o.self {
		return o.host.Sequencers(ctx, in), nil
	}
	err = o.caller.Call(ctx, m.API, m.Incarnation, wire.PathSequencers, in, &page)
	return page, err
}

// uniqueNames returns the names of the members that no other member has.
func (o *overview) uniqueNames() map[roster.Incarnation]string {
	of := map[string][]roster.Incarnation{}
	for _, m := range o.state.Roster().Members {
		name := o.nameOf(m.Incarnation)
		of[name] = append(of[name], m.Incarnation)
	}
	names := map[roster.Incarnation]string{}
	for name, members := range of {
		if len(members) == 1 {
			names[members[0]] = name
		}
	}
	return names
}

// pageOf orders rows and cuts them off at the limit. nexts are as in [mergePages].
func pageOf(rows []wire.SequencerRow, nexts []string, in wire.SequencersRequest) (out wire.SequencersResponse) {
	out.Sequencers = []wire.SequencerRow{}
	if !in.Busiest {
		rows, out.Next = mergePages(rows, nexts, in.Limit, func(r wire.SequencerRow) string { return r.Name })
		out.Sequencers = append(out.Sequencers, rows...)
		return out
	}
	slices.SortFunc(rows, func(a, b wire.SequencerRow) int {
		return cmp.Or(cmp.Compare(b.Recent, a.Recent), cmp.Compare(a.Name, b.Name))
	})
	rows = slices.CompactFunc(rows, func(a, b wire.SequencerRow) bool { return a.Name == b.Name })
	out.Sequencers = append(out.Sequencers, rows[:min(len(rows), in.Limit)]...)
	return out
}

// serveHolders replies with a page of a sequencer's holders, from its owner.
func (o *overview) serveHolders(ctx context.Context, in wire.HoldersRequest) (wire.HoldersResponse, error) {
	var none wire.HoldersResponse
	if err := in.Check(); err != nil {
		return none, err
	}
	if err := o.statuses.enter(ctx); err != nil {
		return none, err
	}
	r := o.state.Roster()
	if !r.Assigned() {
		return none, errNotFormed()
	}
	owner := r.Partitions[roster.PartitionOf(in.Name, len(r.Partitions))].Owner
	if owner == o.self || in.Forwarded {
		out, err := o.host.Holders(ctx, in)
		out.OwnerName = o.uniqueNames()[o.self]
		return out, err
	}
	in.Forwarded = true
	member, _ := r.Member(owner) // every owner is a member
	var out wire.HoldersResponse
	err := o.caller.Call(ctx, member.API, owner, wire.PathHolders, in, &out)
	return out, err
}
