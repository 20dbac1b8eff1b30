package grid

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// An owner sends each other replica what it lacks, one request at a time and from
// a goroutine that ends with it; while nothing changes there is none. What
// changes meanwhile goes with the next.

// sender is one replica that is sent something at the moment, or waits to be
// after a failure.
type sender struct {
	busy     bool
	pause    time.Duration // after the next failure
	asked    uint64        // the last question that it was sent
	answered uint64        // the last question that it has answered
}

const (
	firstPause = 20 * time.Millisecond
	lastPause  = 400 * time.Millisecond
)

type update = backup.Update[sequencer.TableState, sequencer.TableChange]

// replicate sends everybody needed what it lacks.
func (o *actor) replicate() {
	for _, to := range o.copy.Needed() {
		s := o.senders[to]
		if s == nil {
			s = &sender{pause: firstPause}
			o.senders[to] = s
		}
		if s.busy {
			continue
		}
		if u, due := o.copy.Update(to); due || s.answered < o.questions {
			s.busy, s.asked = true, o.questions
			pause := s.pause
			o.m.background(func(ctx context.Context) { o.send(ctx, to, pause, u) })
		}
	}
}

// send brings a replica an update, and the actor what it answered.
func (o *actor) send(ctx context.Context, to partition.Incarnation, pause time.Duration, u update) {
	var res wire.ReplicateResponse
	var err error
	for _, req := range requests(o.id, u) {
		res = wire.ReplicateResponse{}
		if err = o.m.callReplica(ctx, to, req, &res); err != nil || res.Gap {
			break
		}
	}
	if err != nil {
		o.m.log.Debug("a replica does not take its table; trying on", "partition", o.id, "replica", string(to), "error", err)
		sleep(ctx, pause)
	}
	select {
	case o.inbox <- func() { o.sent(to, u.Version, res, err) }:
	case <-ctx.Done():
	}
}

// sent notes a replica's answer.
func (o *actor) sent(to partition.Incarnation, v partition.Version, res wire.ReplicateResponse, err error) {
	s := o.senders[to]
	s.busy = false
	switch {
	case err != nil:
		s.pause = min(2*s.pause, lastPause)
	case res.Gap:
		o.copy.Heard(res.Newest)
		o.copy.Behind(to)
	default:
		s.pause = firstPause
		s.answered = s.asked
		o.copy.Heard(res.Newest)
		o.copy.Acknowledged(to, v, res.Held)
		o.unheld.forget(o.copy.Holds)
	}
	if !slices.Contains(o.copy.Needed(), to) {
		delete(o.senders, to)
	}
}

// requests returns the calls that carry an update.
func requests(id partition.ID, u update) []wire.ReplicateRequest {
	head := wire.ReplicateRequest{Partition: id, Version: u.Version, Position: u.Position}
	if u.Whole == nil {
		return []wire.ReplicateRequest{changes(head, u)}
	}
	pages := wire.PagesOf(*u.Whole)
	out := make([]wire.ReplicateRequest, len(pages))
	for i := range pages {
		out[i] = head
		out[i].Pages, out[i].Page, out[i].Table = len(pages), i, &pages[i]
	}
	return out
}

// changes puts changes into a request, as many as one may have.
func changes(head wire.ReplicateRequest, u update) wire.ReplicateRequest {
	some := u.Changes[:min(len(u.Changes), wire.MaxChanges)]
	head.Since, head.Changes = u.Since, wire.ChangesOf(some)
	head.Position.Number = u.Since + uint64(len(some))
	return head
}

// callReplica makes one call to another replica, wherever the roster says it is.
func (m *Member) callReplica(ctx context.Context, to partition.Incarnation, in wire.ReplicateRequest, out *wire.ReplicateResponse) error {
	member, found := m.roster.Load().Member(to)
	if !found {
		return errors.New("it is no member any more")
	}
	return m.callMember(ctx, member.API, to, wire.PathReplicate, in, out)
}

// partial is a whole table of which some pages have arrived.
type partial struct {
	position backup.Position
	version  partition.Version
	pages    int
	table    sequencer.TableState
}

// serveReplicate takes what an owner sends.
func (m *Member) serveReplicate(ctx context.Context, in wire.ReplicateRequest) (wire.ReplicateResponse, error) {
	u, err := readUpdate(in)
	if err != nil {
		return wire.ReplicateResponse{}, err
	}
	if r := m.roster.Load(); r.Formed() && int(in.Partition) >= len(r.Partitions) {
		return wire.ReplicateResponse{}, invalid("there is no partition %d, only %d of them", in.Partition, len(r.Partitions))
	}
	o, err := m.actorOf(in.Partition)
	if err != nil {
		return wire.ReplicateResponse{}, err
	}
	return ask(ctx, o, func() (wire.ReplicateResponse, error) { return o.accept(in, u) })
}

// readUpdate checks a request and returns what it carries: changes, or one page.
func readUpdate(in wire.ReplicateRequest) (update, error) {
	u := update{Version: in.Version, Position: in.Position, Since: in.Since}
	if in.Pages < 0 || in.Page < 0 || in.Page >= max(1, in.Pages) || (in.Pages > 0) != (in.Table != nil) || len(in.Changes) > wire.MaxChanges {
		return u, invalid("a replica is sent page %d of %d and %d changes", in.Page, in.Pages, len(in.Changes))
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
func (o *actor) accept(in wire.ReplicateRequest, u update) (wire.ReplicateResponse, error) {
	o.observe(o.m.roster.Load())
	if u.Whole != nil {
		if in.Page == 0 {
			o.partial = partial{position: u.Position, version: u.Version, table: sequencer.TableState{Base: u.Whole.Base}}
		}
		p := &o.partial
		if p.position != u.Position || p.version != u.Version || p.pages != in.Page {
			return o.holds(true), nil
		}
		p.pages++
		p.table.Records = append(p.table.Records, u.Whole.Records...)
		if p.pages < in.Pages {
			return o.holds(false), nil
		}
		u.Whole = &sequencer.TableState{Base: p.table.Base, Records: p.table.Records}
		o.partial = partial{}
	}
	_, err := o.copy.Accept(u)
	if errors.Is(err, backup.ErrGap) {
		return o.holds(true), nil
	}
	if err != nil && !errors.Is(err, backup.ErrOldTerm) {
		return wire.ReplicateResponse{}, invalid("%v", err)
	}
	return o.holds(false), nil
}

// holds says what this replica has.
func (o *actor) holds(gap bool) wire.ReplicateResponse {
	return wire.ReplicateResponse{Held: o.copy.Position(), Newest: o.copy.Newest(), Gap: gap}
}
