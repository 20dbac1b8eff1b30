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

// holder is a process that generates IDs, like one with package client: real handles and the real
// session machine, which renews, replaces and returns attachments.
type holder struct {
	process
	g       *grid
	id      attachment.HolderID
	within  *member // the member in the same process; nil for none
	machine *session.Machine
	entries []*entry

	looking  time.Duration // world time at which the machine runs next; negative for never
	searches []search      // directory lookups: the first is in progress, the others wait
	hurry    func()        // makes the lookup in progress urgent; nil without one
	streams  map[*session.Stream]bool
	target   clustertime.Tick // cluster time for the next IDs
}

// entry is one name at one holder: its handle, and its user's state.
type entry struct {
	h       *holder
	name    int
	def     sequencer.Definition
	stripe  bool                 // second handle for the same name
	handle  *sequencer.Sequencer // nil until the name has been created
	control *attachment.Control
	session *session.Handle
	label   string
	lives   int
	busy    bool          // a create, attach or destroy is in progress
	idle    time.Duration // the user generates no IDs until then
	arrived *arrived      // the backend's next reply to the handle
	made    time.Duration // when the last ID was generated
}

// arrived is the reply to an attach, before the handle receives it.
type arrived struct {
	attachment attachment.Attachment
	stamp      stamp
	began      time.Duration
	err        error
}

// ended is a cancelled context, which ends every wait immediately: nothing here ever waits.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// newHolder starts a holder, in a separate process or in a member's.
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

// entryOf returns the entry with a handle's control, or nil if the user has dropped the handle.
func (h *holder) entryOf(c *attachment.Control) *entry {
	for _, e := range h.entries {
		if e.control == c {
			return e
		}
	}
	return nil
}

// Attach implements attachment.Backend. It returns a reply that has already arrived.
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

// Detach implements attachment.Backend: its context has ended, so the session returns the
// attachment.
func (e *entry) Detach(_ context.Context, ref attachment.Ref, rel attachment.Release) error {
	e.released(rel)
	e.h.do(func(m *session.Machine, now session.Now) { m.Return(now, ref, rel) })
	return sequencer.ErrUnavailable
}

// Destroy implements attachment.Backend. It is not used: users destroy names without their handle.
func (e *entry) Destroy(context.Context, attachment.Ref) error { return nil }

// Read implements attachment.Clock. lasts is 0: every ID needs another reading.
func (h *holder) Read() (now clustertime.Tick, lasts, mono time.Duration) { return h.Now(), 0, 0 }

// Wait implements attachment.Clock: it returns immediately, because its context has ended.
func (h *holder) Wait(ctx context.Context, until clustertime.Tick, _ <-chan struct{}) error {
	if h.Now() >= until {
		return nil
	}
	return ctx.Err()
}

// holding returns the ledger's name for an attachment.
func (e *entry) holding(a attachment.Attachment) ledger.Holding {
	return ledger.Holding{Name: e.def.Name(), Node: a.Node, ID: a.ID}
}

// granted records a grant in the ledger, if the handle still has the attachment.
func (e *entry) granted(id attachment.ID, g attachment.Grant) {
	a, has := e.control.Held()
	if !has || a.ID != id {
		return
	}
	e.h.w.note(granted, e.label, int64(g.From), int64(g.Until))
	e.h.g.check(e.h.g.ledger.Granted(e.holding(a), g))
}

// released records in the ledger an attachment that the handle has returned.
func (e *entry) released(rel attachment.Release) {
	e.h.w.note(released, e.label, int64(rel.Node), int64(rel.LastUsed))
	e.h.g.ledger.Released(e.holding(attachment.Attachment{ID: rel.ID, Node: rel.Node}), rel.LastUsed)
}

// emit generates IDs whenever cluster time reaches a multiple of the step: attachments that wrongly
// share a timestamp then use it at the same time.
func (h *holder) emit() {
	now, step := h.Now(), h.g.cfg.Step
	h.target = min(h.target, now-now%step+step) // time goes back after a clock ran far too fast
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

// issue generates IDs with the handle, if it is attached.
func (e *entry) issue(now clustertime.Tick) {
	if e.handle == nil || e.idle > e.h.w.now || e.handle.State() != sequencer.Attached {
		return
	}
	n := 1 + e.h.w.rng.IntN(e.h.g.cfg.Batch)
	if e.h.w.chance(0.0005) {
		n = 70_000 // more than fit into a millisecond
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
