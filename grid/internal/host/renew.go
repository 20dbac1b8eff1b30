package host

import (
	"context"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
)

// Renew answers each set and each claim separately: a failed one has its error, and the others are
// renewed. A claim on a sequencer that the caller may not use fails; a set, which names no sequencers,
// covers only attachments that the caller has presented as claims under names it may use now.
// Partitions are called concurrently, and a partition that does not reply within partition.RenewTime
// does not delay the rest.
func (h *Host) Renew(ctx context.Context, in wire.RenewRequest) (wire.RenewResponse, error) {
	if err := wire.CheckHolder(in.Holder); err != nil {
		return wire.RenewResponse{}, err
	}
	if len(in.Claims) > wire.MaxClaims || len(in.Sets) > roster.MaxPartitions {
		return wire.RenewResponse{}, failure.Errorf(wire.ErrBadRequest,
			"grid: %d claims and %d sets in one renewal; send at most %d and %d", len(in.Claims), len(in.Sets),
			wire.MaxClaims, roster.MaxPartitions)
	}
	if err := h.checkIdentity(in.Identity); err != nil {
		return wire.RenewResponse{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, partition.RenewTime)
	defer cancel()
	out := wire.RenewResponse{
		Stamp: h.stamp(), // computed last: at least the version in any reply
		Sets:  make([]clustertime.Tick, len(in.Sets)), Results: make([]wire.RenewResult, len(in.Claims)),
	}
	groups := h.byPartition(in.Claims)
	peer := api.PeerOf(ctx)
	h.noteUsed(slices.DeleteFunc(slices.Clone(in.Used), func(u wire.Used) bool { return !peer.MayUse(u.Name) }))
	h.noteHolder(ctx, in.Holder, in.About)
	store := make(chan func(), len(in.Sets)+len(groups))
	for i, set := range in.Sets {
		go func() {
			until := h.renewSet(ctx, in, set)
			store <- func() { out.Sets[i] = until }
		}()
	}
	for _, indexes := range groups {
		go func() {
			results := h.renewClaims(ctx, in, indexes)
			store <- func() {
				for i, index := range indexes {
					out.Results[index] = results[i]
				}
			}
		}()
	}
	for range cap(store) {
		(<-store)()
	}
	if h.cfg.Stretch != nil {
		out.Pace = paceOf(h.state.Roster().Settings.Window.Duration(), h.cfg.Stretch())
	}
	return out, nil
}

// paceOf returns the requested time to the next renewal in ms: 0 for the usual quarter of the window,
// up to half of it. A grant then reaches half a window further.
func paceOf(window time.Duration, stretch float64) int64 {
	if stretch == 0 {
		return 0
	}
	return stretched(window, stretch).Milliseconds()
}

// stretched returns the time to the next renewal: a quarter of the window, up to half of it.
func stretched(window time.Duration, stretch float64) time.Duration {
	return window/4 + time.Duration(stretch*float64(window/4))
}

// renewSet returns the new end of a set's grants, 0 if the holder must present claims.
func (h *Host) renewSet(ctx context.Context, in wire.RenewRequest, set wire.ClaimSet) clustertime.Tick {
	r := h.state.Roster()
	if r.Identity() != in.Grid || int(set.Partition) >= len(r.Partitions) || r.Partitions[set.Partition].Owner != h.self {
		return 0
	}
	o, err := h.actorOf(set.Partition)
	if err != nil {
		return 0
	}
	shown := partition.ClaimSet{Count: set.Count, Print: set.Print, Limit: limitOf(ctx), Peer: peerOf(ctx)}
	a := await(ctx, o, func(v partition.View, reply func(clustertime.Tick, error)) {
		o.machine.RenewSet(v, in.Holder, shown, reply)
	})
	return a.value
}

func (d *deps) byPartition(claims []wire.Claim) map[roster.PartitionID][]int {
	partitions := len(d.state.Roster().Partitions)
	out := map[roster.PartitionID][]int{}
	for i, claim := range claims {
		id := roster.PartitionOf(claim.Sequencer.Name, partitions)
		out[id] = append(out[id], i)
	}
	return out
}

// renewClaims renews one partition's claims, and waits until all may be answered. Errors are per
// claim.
func (h *Host) renewClaims(ctx context.Context, in wire.RenewRequest, indexes []int) []wire.RenewResult {
	results := make([]wire.RenewResult, len(indexes))
	var claims []partition.Claim
	var asked []int // of results
	for i, index := range indexes {
		claim, err := claimOf(ctx, in.Claims[index])
		if denied := api.Authorize(ctx, h.cfg.Audit, security.Renew, in.Claims[index].Sequencer.Name); denied != nil {
			err = denied
		}
		if err != nil {
			results[i] = h.renewResult(attachment.Grant{}, err)
			continue
		}
		h.setQuota(ctx, &claim)
		claims, asked = append(claims, claim), append(asked, i)
	}
	if len(claims) == 0 {
		return results
	}
	name := in.Claims[indexes[0]].Sequencer.Name
	renewed, _, err := askOwner(ctx, h, name,
		func(o *partition.Machine, v partition.View, reply func([]partition.Renewed, error)) {
			o.Renew(v, in.Holder, claims, reply)
		})
	for i, at := range asked {
		if err != nil {
			results[at] = h.renewResult(attachment.Grant{}, err)
			continue
		}
		h.noteEarlier(ctx, claims[i], renewed[i].Err)
		results[at] = h.renewResult(renewed[i].Grant, renewed[i].Err)
	}
	return results
}

func (d *deps) renewResult(grant attachment.Grant, err error) wire.RenewResult {
	if err != nil {
		return wire.RenewResult{Error: wire.ErrorOf(err, d.state.Roster().Version)}
	}
	return wire.RenewResult{Grant: grant}
}
