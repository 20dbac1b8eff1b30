package host

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
)

// Store implements partition.Member: the machine is notified when the write is on disk. A failed disk
// acknowledges nothing; other members replace this one.
func (o *actor) Store(w partition.Write) {
	if o.host.disk == nil {
		return
	}
	o.host.disk.add(o.id, w, func(err error) {
		o.tell(job{serve: func(v partition.View) { o.machine.Stored(v, w.Position, err) }})
	})
}

func (o *actor) ReportStored(to roster.Incarnation, p backup.Position) {
	if o.host.stored.add(to, o.id, p) {
		o.host.life.Background(func(ctx context.Context) { o.host.tellStored(ctx, to) })
	}
}

const (
	storedRetry     = 20 * time.Millisecond
	storedRetryLast = 400 * time.Millisecond
)

// tellStored reports the positions on this member's disk to an owner, until no report is
// left. A report that becomes ready during a call is sent with the next one.
func (h *Host) tellStored(ctx context.Context, to roster.Incarnation) {
	pause := storedRetry
	for {
		batch, more := h.stored.take(to)
		if !more {
			return
		}
		owner, found := h.state.Roster().Member(to)
		if !found || ctx.Err() != nil {
			h.stored.drop(to) // it owns nothing any longer
			return
		}
		req := member.StoredRequest{Replica: h.self, Stored: batch}
		if err := h.caller.Call(ctx, owner.API, to, wire.PathStored, req, &member.StoredResponse{}); err != nil {
			h.log.Debug("report of stored positions failed; retrying", "owner", string(to), "error", err)
			h.stored.putBack(to, batch)
			signal.Sleep(ctx, pause)
			pause = min(2*pause, storedRetryLast)
			continue
		}
		pause = storedRetry
	}
}

// Stored delivers, at an owner, a replica's report of its disk.
func (h *Host) Stored(ctx context.Context, in member.StoredRequest) (member.StoredResponse, error) {
	if err := in.Replica.Check(); err != nil {
		return member.StoredResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: %s", err.Error())
	}
	if len(in.Stored) > member.MaxStored {
		return member.StoredResponse{}, failure.Errorf(wire.ErrBadRequest,
			"grid: %d partitions are reported as stored; report at most %d in one call", len(in.Stored), member.MaxStored)
	}
	r := h.state.Roster()
	for _, s := range in.Stored {
		if int(s.Partition) >= len(r.Partitions) {
			return member.StoredResponse{}, failure.Errorf(wire.ErrBadRequest,
				"grid: partition %d does not exist; the grid has %d", s.Partition, len(r.Partitions))
		}
		o, err := h.actorOf(s.Partition)
		if err != nil {
			return member.StoredResponse{}, err
		}
		j := job{serve: func(v partition.View) { o.machine.StoredBy(v, in.Replica, s.Position) }}
		if err := o.put(ctx, j); err != nil {
			return member.StoredResponse{}, err
		}
	}
	return member.StoredResponse{}, nil
}
