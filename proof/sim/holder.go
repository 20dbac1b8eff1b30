package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/session"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/proof/ledger"
	"github.com/snowgrid/snowgrid/sequencer"
)

// holder is a process that makes IDs, as package client has it: real handles, and the
// real session machine, which renews, replaces and gives back.
type holder struct {
	process
	g       *grid
	id      attachment.HolderID
	within  *member // whose process it is part of; nil for none
	machine *session.Machine
	entries []*entry

	looking  time.Duration // when the machine looks next, by the world's time; negative for never
	searches []search      // for the directory: one is in progress, and the others wait
	hurry    func()        // makes the one in progress urgent; nil without one
	streams  map[*session.Stream]bool
	target   clustertime.Tick // cluster time of the next IDs
}

// entry is one name at one holder: its handle, and the wishes of its user.
type entry struct {
	h       *holder
	name    int
	def     sequencer.Definition
	stripe  bool                 // a second handle on the name
	handle  *sequencer.Sequencer // nil until the name's life is known
	control *attachment.Control
	session *session.Handle
	label   string
	lives   int
	busy    bool          // a create, attach or destroy is in progress
	idle    time.Duration // the user wants no IDs until then
	arrived *arrived      // the next answer of the handle's backend
	made    time.Duration // when the last ID was made
}

// arrived is the answer to an attach, on its way into the handle.
type arrived struct {
	attachment attachment.Attachment
	stamp      stamp
	began      time.Duration
	err        error
}

// ended is a context that ends every wait immediately: nothing here ever waits.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// newHolder starts a holder, in a process of its own or within a member.
func (g *grid) newHolder(within *member) *holder {
	g.holderCount++
	place := holderPlaces + g.holderCount
	addrs := []string{anyMember}
	if within != nil {
		place = within.place
		addrs = []string{within.seat.addr(), anyMember}
	}
	name := fmt.Sprintf("h%d", g.holderCount)
	h := &holder{
		process: g.w.process(name, place), g: g, id: attachment.HolderID(name), within: within,
		machine: session.New(session.Config{Addrs: addrs,
			Rand: func(below time.Duration) time.Duration { return g.w.between(0, below) }}),
		looking: -1, streams: map[*session.Stream]bool{},
	}
	for _, n := range g.w.rng.Perm(len(g.names))[:1+g.w.rng.IntN(min(3, len(g.names)))] {
		h.entries = append(h.entries, h.newEntry(n, false))
		if g.w.chance(0.2) {
			h.entries = append(h.entries, h.newEntry(n, true))
		}
	}
	g.holders = append(g.holders, h)
	g.holderOf[h.id] = h
	h.after(g.w.between(0, wantEvery), h.want)
	h.after(g.w.between(0, wantEvery), h.emit)
	return h
}

func (h *holder) newEntry(name int, stripe bool) *entry {
	return &entry{h: h, name: name, def: h.g.names[name], stripe: stripe, idle: h.w.now + h.w.between(0, 5*time.Second)}
}

// endHolder ends a holder without notice.
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

// entryOf returns the entry whose handle a control belongs to, nil if the user has
// dropped that.
func (h *holder) entryOf(c *attachment.Control) *entry {
	for _, e := range h.entries {
		if e.control == c {
			return e
		}
	}
	return nil
}

// Attach implements attachment.Backend: the grid has answered already.
func (e *entry) Attach(context.Context, attachment.Ref, attachment.Preference) (attachment.Attachment, error) {
	got := e.arrived
	e.arrived = nil
	switch {
	case got == nil:
		return attachment.Attachment{}, sequencer.ErrUnavailable
	case got.err != nil:
		return attachment.Attachment{}, got.err
	}
	e.h.do(func(m *session.Machine, now session.Now) {
		m.Attached(now, e.session, got.attachment, got.stamp, got.began)
	})
	return got.attachment, nil
}

// Detach implements attachment.Backend: its context has ended, so the session gives back.
func (e *entry) Detach(_ context.Context, ref attachment.Ref, rel attachment.Release) error {
	e.released(rel)
	e.h.do(func(m *session.Machine, now session.Now) { m.Return(now, ref, rel) })
	return sequencer.ErrUnavailable
}

// Destroy implements attachment.Backend. Destroys do not go by the handle here.
func (e *entry) Destroy(context.Context, attachment.Ref) error { return nil }

// Read implements attachment.Clock: it does not say how long a time lasts.
func (h *holder) Read() (now clustertime.Tick, lasts, mono time.Duration) { return h.Now(), 0, 0 }

// Wait implements attachment.Clock: it ends as its context does, immediately.
func (h *holder) Wait(ctx context.Context, until clustertime.Tick, _ <-chan struct{}) error {
	if h.Now() >= until {
		return nil
	}
	return ctx.Err()
}

// holding names the entry's present attachment in the ledger.
func (e *entry) holding(a attachment.Attachment) ledger.Holding {
	return ledger.Holding{Name: e.def.Name(), Node: a.Node, ID: a.ID}
}

// granted tells the ledger of a grant, if the handle still holds the attachment.
func (e *entry) granted(id attachment.ID, g attachment.Grant) {
	a, has := e.control.Held()
	if !has || a.ID != id {
		return
	}
	e.h.w.note(granted, e.label, int64(g.From), int64(g.Until))
	e.h.g.check(e.h.g.ledger.Granted(e.holding(a), g))
}

// released records in the ledger an attachment that the handle gave up.
func (e *entry) released(rel attachment.Release) {
	e.h.w.note(released, e.label, int64(rel.Node), int64(rel.LastUsed))
	e.h.g.ledger.Released(e.holding(attachment.Attachment{ID: rel.ID, Node: rel.Node}), rel.LastUsed)
}

// emit makes IDs whenever cluster time comes to a round number: attachments that
// share a timestamp by mistake then use it at the same time.
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
