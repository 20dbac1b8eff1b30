package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/proof/ledger"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// holder is a process that makes IDs, as package client has it: real handles,
// which it renews, replaces and gives back.
type holder struct {
	process
	g       *grid
	id      sequencer.HolderID
	within  *member // whose process it is part of; nil for none
	entries []*entry
	dir     *roster.Roster // the newest known
	asking  bool           // for the directory
	renews  map[roster.PartitionID]bool
	target  clustertime.Tick // cluster time of the next IDs
}

// entry is one name at one holder: its handle, and what the user wants with it.
type entry struct {
	h       *holder
	name    int
	def     sequencer.Definition
	handle  *sequencer.Sequencer // nil until the name's life is known
	control *sequencer.Control
	label   string
	lives   int
	seen    roster.Version
	last    sequencer.Attachment // the last whole answer
	next    time.Duration        // when to renew
	busy    bool                 // a create, attach, detach or destroy is under way
	idle    time.Duration        // the user wants no IDs until then
	arrived sequencer.Attachment // what the handle's home answers next
	made    time.Duration        // when the last ID was made
}

// ended is a context that ends every wait at once: nothing here ever waits.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

const (
	lookEvery  = 200 * time.Millisecond
	retryAfter = 300 * time.Millisecond
	oldAnswer  = 2 * time.Second // an answer to an older request tells no time
	firstPause = 20 * time.Millisecond
	lastPause  = 400 * time.Millisecond
)

// newHolder starts a holder, in a process of its own or within a member.
func (g *grid) newHolder(within *member) *holder {
	g.holderCount++
	place := holderPlaces + g.holderCount
	if within != nil {
		place = within.place
	}
	name := fmt.Sprintf("h%d", g.holderCount)
	h := &holder{
		process: g.w.process(name, place), g: g, id: sequencer.HolderID(name), within: within,
		dir: &roster.Roster{}, renews: map[roster.PartitionID]bool{},
	}
	for _, n := range g.w.rng.Perm(len(g.names))[:1+g.w.rng.IntN(min(3, len(g.names)))] {
		h.entries = append(h.entries, &entry{h: h, name: n, def: g.names[n], idle: g.w.now + g.w.between(0, 5*time.Second)})
	}
	g.holders = append(g.holders, h)
	g.holderOf[h.id] = h
	h.after(g.w.between(0, lookEvery), h.look)
	h.after(g.w.between(0, lookEvery), h.emit)
	return h
}

// endHolder ends a holder without a word.
func (g *grid) endHolder(h *holder) {
	h.alive = false
	delete(g.holderOf, h.id)
	for i, have := range g.holders {
		if have == h {
			g.holders = append(g.holders[:i:i], g.holders[i+1:]...)
		}
	}
	for _, e := range h.entries {
		g.ledger.Forget(e.label)
	}
}

// Attach implements sequencer.Home: the grid has answered already.
func (e *entry) Attach(context.Context, sequencer.Ref, sequencer.Preference) (sequencer.Attachment, error) {
	return e.arrived, nil
}

// Detach implements sequencer.Home.
func (e *entry) Detach(_ context.Context, ref sequencer.Ref, rel sequencer.Release) error {
	e.giveBack(ref, rel)
	return nil
}

// Destroy implements sequencer.Home. Destroys do not go by the handle here.
func (e *entry) Destroy(context.Context, sequencer.Ref) error { return nil }

// Read implements sequencer.Clock: nobody knows how long anything lasts here.
func (h *holder) Read() (now clustertime.Tick, lasts, mono time.Duration) { return h.Now(), 0, 0 }

// Wait implements sequencer.Clock: it ends as its context does, at once.
func (h *holder) Wait(ctx context.Context, until clustertime.Tick, _ <-chan struct{}) error {
	if h.Now() >= until {
		return nil
	}
	return ctx.Err()
}

// stamped notes an answer's time, unless the answer was long on its way.
func (h *holder) stamped(s stamp, began time.Duration) {
	if h.Mono()-began <= oldAnswer {
		h.Sample(s.time)
	}
}

// look does what is due: renewals, and what the users want.
func (h *holder) look() {
	h.after(lookEvery, h.look)
	if len(h.dir.Partitions) == 0 {
		h.lookUp()
		return
	}
	for _, e := range h.entries {
		e.want()
	}
	for id := range h.dir.Partitions {
		h.renewDue(roster.PartitionID(id))
	}
}

// lookUp asks some member who owns what.
func (h *holder) lookUp() {
	m := h.within
	if m == nil || !h.w.chance(0.7) {
		m = h.g.someMember()
	}
	if h.asking || m == nil {
		return
	}
	h.asking = true
	call(&h.process, &m.process, 500*time.Millisecond,
		func(reply func(*roster.Roster)) { reply(m.roster) },
		func(r *roster.Roster, err error) {
			h.asking = false
			if err == nil && r.Version > h.dir.Version {
				h.dir = r
			}
		})
}

// owner gives the member that the directory names for a name, nil for none.
func (h *holder) owner(name string) *member {
	if len(h.dir.Partitions) == 0 {
		return nil
	}
	return h.g.members[h.dir.Partitions[roster.PartitionOf(name, len(h.dir.Partitions))].Owner]
}

// ask calls a name's owner until it answers or time is up.
func ask[T any](h *holder, name string, patience time.Duration, serve func(m *member, reply func(answer[T])), done func(T, stamp, error)) {
	end := h.Mono() + patience
	var try func(pause time.Duration)
	try = func(pause time.Duration) {
		again := func(err error) {
			if h.Mono() >= end {
				var none T
				done(none, stamp{}, err)
				return
			}
			h.lookUp()
			h.after(pause, func() { try(min(2*pause, lastPause)) })
		}
		m := h.owner(name)
		if m == nil {
			again(sequencer.ErrUnavailable)
			return
		}
		began := h.Mono()
		call(&h.process, &m.process, time.Second, func(reply func(answer[T])) { serve(m, reply) }, func(a answer[T], err error) {
			switch {
			case err != nil:
				again(err)
			case errors.Is(a.err, roster.ErrWrongOwner), errors.Is(a.err, sequencer.ErrUnavailable):
				again(a.err)
			default:
				if a.err == nil {
					h.stamped(a.stamp, began)
				}
				done(a.value, a.stamp, a.err)
			}
		})
	}
	try(firstPause)
}

// holding names the entry's present attachment in the ledger.
func (e *entry) holding(a sequencer.Attachment) ledger.Holding {
	return ledger.Holding{Name: e.def.Name(), Node: a.Node, ID: a.ID}
}

// granted tells the ledger of a grant, if the handle still holds the attachment.
func (e *entry) granted(id sequencer.AttachmentID, g sequencer.Grant) {
	a, has := e.control.Held()
	if !has || a.ID != id {
		return
	}
	e.h.w.note(granted, e.label, int64(g.From), int64(g.Until))
	e.h.g.check(e.h.g.ledger.Granted(e.holding(a), g))
}

// emit makes IDs whenever cluster time comes to a round number: attachments that
// share a timestamp by mistake then use it at once.
func (h *holder) emit() {
	now, step := h.Now(), h.g.cfg.Step
	h.target = min(h.target, now-now%step+step) // time steps back where a clock ran far too fast
	if now == 0 || now < h.target {
		wait := 100 * time.Millisecond
		if now > 0 {
			wait = time.Duration(min(h.target-now, 1000)) * time.Millisecond
		}
		h.after(wait, h.emit)
		return
	}
	h.target = now - now%step + step
	for _, e := range h.entries {
		e.issue(now)
	}
	h.after(time.Duration(h.target-now)*time.Millisecond, h.emit)
}

// issue makes some IDs with the handle, if it has the right to any now.
func (e *entry) issue(now clustertime.Tick) {
	if e.handle == nil || e.idle > e.h.w.now || e.handle.State() != sequencer.Attached {
		return
	}
	n := 1 + e.h.w.rng.IntN(e.h.g.cfg.Batch)
	if e.h.w.chance(0.0005) {
		n = 70_000 // more than a millisecond has
	}
	buffer := e.h.g.buffer[:n]
	k, _ := e.handle.Fill(ended, buffer)
	if k == 0 {
		return
	}
	e.made = e.h.w.now
	e.h.w.note(issued, e.label, int64(buffer[0]), int64(k))
	a, _ := e.control.Held()
	e.h.g.check(e.h.g.ledger.Issued(e.label, e.holding(a), e.def, buffer[:k]))
	e.h.g.check(e.checkAhead(now, buffer[k-1]))
}
