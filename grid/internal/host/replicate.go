package host

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
)

// Send implements partition.Member: it sends a replica an update, and delivers the reply to the
// machine. Changes are batched with those from other partitions, and no goroutine waits for the reply;
// a whole table, or an update without a connection to its replica, has its own goroutine.
func (o *actor) Send(d partition.Delivery) {
	if d.Update.Whole == nil && o.startDelivery(d) {
		return
	}
	o.host.life.Background(func(ctx context.Context) { o.deliver(ctx, d) })
}

// startDelivery sends changes, and reports whether it could without waiting.
func (o *actor) startDelivery(d partition.Delivery) bool {
	h := o.host
	replica, found := h.state.Roster().Member(d.To)
	if !found {
		return false
	}
	began := h.clock.Mono()
	h.sent(update{o.id, d.To}, began)
	req := changes(headOf(o.id, d.Update), d.Update)
	return api.StartCall(h.caller, replica.API, d.To, wire.PathReplicate, req,
		func(res member.ReplicateResponse, err error) {
			if err != nil || res.NotYet || !partition.Shows(h.state.Roster(), newestOf(res)) {
				h.life.Background(func(ctx context.Context) { o.answered(ctx, d, began, res, err) })
				return
			}
			o.acknowledged(d, began, res)
			o.tell(o.delivered(d, res, nil))
		})
}

func newestOf(res member.ReplicateResponse) roster.Term { return max(res.Newest, res.Held.Term) }

func (o *actor) deliver(ctx context.Context, d partition.Delivery) {
	var res member.ReplicateResponse
	var err error
	began := o.host.clock.Mono()
	o.host.sent(update{o.id, d.To}, began)
	for req := range requests(o.id, d.Update) {
		res = member.ReplicateResponse{}
		if err = o.host.callReplica(ctx, d.To, req, &res); err != nil || res.Gap || res.NotYet {
			break
		}
	}
	o.answered(ctx, d, began, res, err)
}

// answered delivers an answer, or the failure of a delivery after a pause.
func (o *actor) answered(ctx context.Context, d partition.Delivery, began time.Duration, res member.ReplicateResponse,
	err error) {
	if err == nil {
		o.acknowledged(d, began, res)
	} else {
		o.host.log.Debug("a replica does not take its table; retrying", "partition", o.id, "replica", string(d.To),
			"error", err)
		signal.Sleep(ctx, d.Pause)
	}
	o.host.awaitTerm(ctx, newestOf(res))
	if res.NotYet {
		signal.Sleep(ctx, partition.NotYetPause)
	}
	_ = o.put(ctx, o.delivered(d, res, err)) // else the tenure has ended
}

func (o *actor) acknowledged(d partition.Delivery, began time.Duration, res member.ReplicateResponse) {
	if !res.Gap && !res.NotYet {
		o.host.counts.unacknowledged.acknowledged(update{o.id, d.To})
		o.host.counts.replications.Observe(o.host.clock.Mono() - began)
	}
}

func (o *actor) delivered(d partition.Delivery, res member.ReplicateResponse, err error) job {
	return job{serve: func(v partition.View) { o.machine.Delivered(v, d, partition.Holds(res), err) }}
}

func headOf(id roster.PartitionID, u partition.Update) member.ReplicateRequest {
	return member.ReplicateRequest{Partition: id, Version: u.Version, Position: u.Position, Keep: u.Keep}
}

// requests returns the calls that carry an update. Each is made when its turn comes, so
// that a table on its way is there once and not three times.
func requests(id roster.PartitionID, u partition.Update) iter.Seq[member.ReplicateRequest] {
	return func(yield func(member.ReplicateRequest) bool) {
		head := headOf(id, u)
		if u.Whole == nil {
			yield(changes(head, u))
			return
		}
		pages := member.PagesOf(*u.Whole)
		for i, page := range pages {
			req, table := head, member.TableOf(page)
			req.Pages, req.Page, req.Table = len(pages), i, &table
			if !yield(req) {
				return
			}
		}
	}
}

// changes puts changes into a request, as many as one may have.
func changes(head member.ReplicateRequest, u partition.Update) member.ReplicateRequest {
	some := u.Changes[:min(len(u.Changes), member.MaxChanges)]
	head.Since, head.Changes = u.Since, member.ChangesOf(some)
	if !u.Keep { // else one change leads to the position
		head.Position.Number = u.Since + uint64(len(some))
	}
	return head
}

func (d *deps) callReplica(ctx context.Context, to roster.Incarnation, in member.ReplicateRequest,
	out *member.ReplicateResponse) error {
	replica, found := d.state.Roster().Member(to)
	if !found {
		return errors.New("the replica is no longer a member")
	}
	return d.caller.Call(ctx, replica.API, to, wire.PathReplicate, in, out)
}

// partial is a whole table that has arrived in part.
type partial struct {
	position backup.Position
	version  roster.Version
	keep     bool
	pages    int
	table    partition.TableState
}

func (h *Host) startReplicate(ctx context.Context, in member.ReplicateRequest,
	reply func(member.ReplicateResponse, error)) {
	o, u, err := h.replicated(in)
	if err != nil {
		reply(member.ReplicateResponse{}, err)
		return
	}
	apply := func() {
		start(ctx, o, func(v partition.View, reply func(partition.Holds, error)) { reply(o.accept(v, in, u)) },
			func(holds partition.Holds, _ wire.Stamp, err error) { reply(member.ReplicateResponse(holds), err) })
	}
	if r := h.state.Roster(); r.Formed() && partition.Shows(r, in.Position.Term) {
		apply()
		return
	}
	if !h.life.Go(func() {
		if leave, parked := h.parking.enter(in.Weight()); parked {
			h.awaitTerm(ctx, in.Position.Term)
			leave()
		}
		apply()
	}) {
		reply(member.ReplicateResponse{}, refusal.ErrClosed)
	}
}

// replicated checks a request, and returns its update and the target actor.
func (h *Host) replicated(in member.ReplicateRequest) (*actor, partition.Update, error) {
	u, err := readUpdate(in)
	if err != nil {
		return nil, u, err
	}
	if r := h.state.Roster(); r.Formed() && int(in.Partition) >= len(r.Partitions) {
		return nil, u, failure.Errorf(wire.ErrBadRequest, "grid: partition %d does not exist; the grid has %d", in.Partition,
			len(r.Partitions))
	}
	o, err := h.actorOf(in.Partition)
	return o, u, err
}

// readUpdate checks a request and returns its update: changes, or one page.
func readUpdate(in member.ReplicateRequest) (partition.Update, error) {
	u := partition.Update{Version: in.Version, Position: in.Position, Since: in.Since, Keep: in.Keep}
	if in.Pages < 0 || in.Page < 0 || in.Page >= max(1, in.Pages) || (in.Pages > 0) != (in.Table != nil) ||
		len(in.Changes) > member.MaxChanges {
		return u, failure.Errorf(wire.ErrBadRequest, "grid: a replica update has page %d of %d and %d changes", in.Page,
			in.Pages, len(in.Changes))
	}
	if in.Table != nil {
		state, err := in.Table.State()
		u.Whole = &state
		return u, err
	}
	for _, c := range in.Changes {
		change, err := c.Change()
		if err != nil {
			return u, err
		}
		u.Changes = append(u.Changes, change)
	}
	return u, nil
}

// accept takes changes, or a page of a table; the last page completes the table.
func (o *actor) accept(v partition.View, in member.ReplicateRequest, u partition.Update) (partition.Holds, error) {
	holds, believed := o.machine.Believes(v, u.Position.Term)
	if !believed || u.Whole != nil {
		o.machine.Observe(v)
	}
	if !believed {
		return holds, nil
	}
	if u.Whole != nil {
		if in.Page == 0 {
			o.partial = partial{position: u.Position, version: u.Version, keep: u.Keep,
				table: partition.TableState{Base: u.Whole.Base, Complete: u.Whole.Complete}}
		}
		p, has := &o.partial, o.machine.Holds()
		if p.position != u.Position || p.version != u.Version || p.keep != u.Keep || p.pages != in.Page {
			has.Gap = true
			return has, nil
		}
		p.pages++
		p.table.Records = append(p.table.Records, u.Whole.Records...)
		if p.pages < in.Pages {
			return has, nil
		}
		table := p.table
		u.Whole, o.partial = &table, partial{}
	}
	holds, err := o.machine.Accept(v, u)
	if err != nil {
		return holds, failure.Errorf(wire.ErrBadRequest, "grid: %s", err.Error())
	}
	return holds, nil
}
