package host

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// waitersMax limits concurrent waits for another owner. Further requests are answered immediately.
const waitersMax = 1024

// Directory returns the owners. It fails if this member no longer receives roster changes: callers,
// including its own handles, then use other members.
func (h *Host) Directory(ctx context.Context, in wire.DirectoryRequest) (wire.DirectoryResponse, error) {
	if err := h.awaitMove(ctx, in); err != nil {
		return wire.DirectoryResponse{}, err
	}
	if err := h.raft.Failure(); err != nil && h.state.Ended.Load() {
		return wire.DirectoryResponse{}, failure.Errorf(sequencer.ErrUnavailable, "%w", err)
	}
	r := h.state.Roster()
	stamp := wire.Stamp{Grid: r.Identity(), Version: r.Version, Time: h.clock.Now()}
	if in.Known != nil && *in.Known == (wire.DirectoryVersion{Grid: stamp.Grid, Version: stamp.Version}) {
		return wire.DirectoryResponse{Stamp: stamp, Window: r.Settings.Window, Same: true}, nil
	}
	out := wire.DirectoryResponse{Stamp: stamp, Name: r.Settings.Name, Window: r.Settings.Window,
		Owners: make([]int, len(r.Partitions))}
	index := map[roster.Incarnation]int{}
	for i, member := range r.Members {
		index[member.Incarnation] = i
		out.Members = append(out.Members, wire.Address{Incarnation: member.Incarnation, API: member.API})
	}
	for p, state := range r.Partitions {
		i, owned := index[state.Owner]
		if !owned {
			i = -1
		}
		out.Owners[p] = i
	}
	return out, nil
}

// awaitMove returns when a request for the directory is to be answered.
func (h *Host) awaitMove(ctx context.Context, in wire.DirectoryRequest) error {
	if in.Wait < 0 || in.Wait > wire.MaxDirectoryWait {
		return failure.Errorf(wire.ErrBadRequest, "grid: directory: wait is %d ms; give 0 to %d", in.Wait,
			wire.MaxDirectoryWait)
	}
	if owner, moved := ownerNow(h.state.Roster(), in); in.NotAt != "" && !moved && h.cfg.Awaited != nil {
		h.cfg.Awaited(in, owner)
	}
	if in.Wait == 0 {
		return nil
	}
	defer h.waiters.Add(-1)
	if h.waiters.Add(1) > waitersMax {
		return nil
	}
	h.until(ctx, in.Wait.Duration(), func() bool {
		_, moved := ownerNow(h.state.Roster(), in)
		return moved
	})
	return nil
}

// until waits until ready is true of the member's state, or limit has passed, or ctx or the member ends.
func (d *deps) until(ctx context.Context, limit time.Duration, ready func() bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		changed := d.state.Changed()
		if ready() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-d.ctx.Done():
			return
		}
	}
}

// ownerNow returns a partition's owner, and reports whether that is not at the address in a
// request. A partition that there is not has moved, too: the request is about another grid.
func ownerNow(r *roster.Roster, in wire.DirectoryRequest) (owner roster.Member, moved bool) {
	if in.Partition < 0 || in.Partition >= len(r.Partitions) {
		return owner, true
	}
	owner, owned := r.Member(r.Partitions[in.Partition].Owner)
	return owner, owned && owner.API != in.NotAt
}
