package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/proof/ledger"
	"github.com/snowgrid/snowgrid/sequencer"
)

// storeHolder is a process with a handle on the sequencer, as with package store: a real handle,
// and for each attachment the real machine from package record.
type storeHolder struct {
	process
	f       *fleet
	cut     time.Duration // it reaches no server until then
	handle  *sequencer.Sequencer
	control *attachment.Control
	ref     attachment.Ref
	mark    clustertime.Tick
	label   string
	lives   int
	seat    *storeSeat
	stopped []*storeSeat           // attachments being returned
	lost    attachment.ID          // the handle's attachment that has lost its record
	arrived *attachment.Attachment // the backend's next reply to the handle
	busy    bool                   // it is reading the document or the records
	idle    time.Duration
}

// storeSeat is an attachment with its machine.
type storeSeat struct {
	machine *record.Holding
	calls   int  // number of calls made
	sent    bool // the last one is in progress
	failed  bool // the last call had no reply
	renew   time.Duration
	end     time.Duration // end of the attempts to return it
}

// newHolder starts a holder.
func (f *fleet) newHolder() *storeHolder {
	f.started++
	h := &storeHolder{process: f.w.process(fmt.Sprintf("h%d", f.started), f.started), f: f}
	apart := f.cfg.Skew / 2
	if !f.cfg.Lossy {
		apart = pick(f.w, []time.Duration{0, time.Second, time.Hour})
		h.run(pick(f.w, []int64{0, 0, 200, -200, 20_000}))
	}
	h.wall = clustertime.Tick(1_800_000_000_000).Add(clustertime.SpanOf(f.w.now + f.w.between(-apart, apart)))
	f.holders = append(f.holders, h)
	h.Sample(h.Wall())
	h.every(time.Second, func() { h.Sample(h.Wall()) })
	h.every(f.w.between(100*time.Millisecond, 200*time.Millisecond), h.look)
	h.every(f.w.between(20*time.Millisecond, 50*time.Millisecond), h.issue)
	return h
}

// end ends a holder without notice.
func (f *fleet) end(h *storeHolder) {
	h.alive = false
	for i, have := range f.holders {
		if have == h {
			f.holders = append(f.holders[:i:i], f.holders[i+1:]...)
		}
	}
	f.ledger.Forget(h.label)
}

// look starts every request that is due.
func (h *storeHolder) look() {
	for _, s := range h.stopped {
		h.drive(s)
	}
	switch {
	case h.busy:
	case h.handle == nil:
		h.open()
	case h.seat == nil && h.w.now >= h.idle:
		h.take()
	}
	if h.handle != nil && !h.lost.IsZero() {
		h.control.Lapse(h.lost)
	}
	if h.handle == nil || h.seat == nil {
		return
	}
	switch s := h.seat; {
	case s.machine.Phase() == record.Lost:
		h.lose(s)
		return
	case s.failed && s.machine.Expire(h.Now()):
	case s.machine.Phase() == record.Holds && s.machine.Idle() && h.Mono() >= s.renew:
		h.renew(s)
	default:
		h.drive(s)
	}
	if h.w.chance(h.f.cfg.Detach) && h.handle != nil {
		h.idle = h.w.now + h.w.between(0, 3*time.Second)
		_ = h.handle.DetachLogicalNode(ended)
	}
	if h.w.chance(h.f.cfg.Destroy) && h.handle != nil && !h.busy {
		h.destroy()
	}
}

// limits returns the bounds for a swap at a server.
func (h *storeHolder) limits(generation string) record.Bounds {
	b := record.Bounds{
		Now: h.Now(), Window: h.f.cfg.Window, Life: h.ref.Life, Mark: h.mark,
		Epoch: clustertime.TickOf(h.f.def.Config().Epoch.Time()), Quarantine: h.f.quarantine(),
	}
	if h.f.cfg.Lossy {
		b.Generation = generation
	}
	return b
}

// take reads the records and starts to take one.
func (h *storeHolder) take() {
	h.busy = true
	type list struct {
		candidates []record.Candidate
		revisions  map[sequencer.NodeID]string
	}
	s, handle := h.f.server(), h.handle
	callStore(h, s, func() list {
		l := list{revisions: map[sequencer.NodeID]string{}}
		for i := range sequencer.NodeID(h.f.cfg.Pool) {
			if seen := s.seen(i); seen.Err == nil {
				l.candidates = append(l.candidates, record.Candidate{Node: i, Record: seen.Record})
				l.revisions[i] = seen.Revision
			}
		}
		return l
	}, func(l list, answered bool) {
		if !h.busy || h.handle != handle || h.seat != nil {
			return
		}
		if h.busy = false; !answered || len(l.candidates) == 0 {
			return
		}
		b := h.limits(s.generation)
		order, _ := record.Order(l.candidates, attachment.Preference{Any: true}, b)
		if len(order) == 0 || h.w.chance(h.f.cfg.Rude) {
			order = []record.Candidate{pick(h.w, l.candidates)}
			if held := order[0].Record; held.State == record.Held && held.Life == b.Life && !h.w.chance(h.f.cfg.Rude) {
				return
			}
		}
		machine, err := record.NewHolding(attachment.ID(h.w.bits()), order[0], l.revisions[order[0].Node], "task",
			h.f.nonce(), b)
		switch {
		case errors.Is(err, sequencer.ErrDestroyed):
			h.ended()
		case err == nil:
			h.f.result.Takes++
			h.seat = &storeSeat{machine: machine}
			h.drive(h.seat)
		}
	})
}

// renew extends a record.
func (h *storeHolder) renew(s *storeSeat) {
	generation := h.f.server().generation
	_ = s.machine.Extend(nil, h.f.nonce(), h.limits(generation))
	s.renew = h.Mono() + record.RenewAfter(h.f.cfg.Window.Duration(),
		func(below time.Duration) time.Duration { return h.w.between(0, below) })
	h.drive(s)
}

// drive sends the request that an attachment's machine requires.
func (h *storeHolder) drive(s *storeSeat) {
	if s.sent {
		return
	}
	m := s.machine
	if m.Phase() == record.Returning && h.w.now >= s.end {
		m.GiveUp()
	}
	request, want, revision := m.Want()
	if request == record.Nothing {
		return
	}
	server, node := h.f.server(), m.Node()
	s.calls++
	s.sent = true
	call := s.calls
	over := func(answered bool) {
		if s.calls == call { // otherwise it is a late reply
			s.sent, s.failed = false, !answered
		}
	}
	switch request {
	case record.Swap:
		m.Sent()
		generation := ""
		if want.State == record.Held && h.f.cfg.Lossy {
			generation = want.Generation // Q3
		}
		callStore(h, server, func() swapped {
			return h.f.swap(server, recordKey(node), want.Encode(), revision, generation)
		}, func(a swapped, answered bool) {
			over(answered)
			h.told(s, func() { m.Swapped(want.Nonce, a.answer, a.revision, h.f.nonce()) })
		})
	case record.Load:
		callStore(h, server, func() record.Seen { return server.seen(node) }, func(seen record.Seen, answered bool) {
			over(answered)
			if answered {
				h.told(s, func() { m.Read(seen, h.f.nonce()) })
			}
		})
	}
}

// told applies a reply, and passes a new grant to the handle.
func (h *storeHolder) told(s *storeSeat, answer func()) {
	before, had := s.machine.Grant()
	answer()
	g, has := s.machine.Grant()
	if h.seat == s && has && (!had || g != before) { // otherwise the handle has ended, or returned the attachment
		h.f.granted(h.ref.Life, h.holding(s.machine.ID(), s.machine.Node()), g)
		h.w.note(granted, h.label, int64(g.From), int64(g.Until))
	}
	switch {
	case !has || h.seat != s:
	case had:
		h.control.Renewed(s.machine.ID(), g)
	default:
		h.install(s, g)
	}
	h.drive(s)
}

// install puts a new attachment into the handle.
func (h *storeHolder) install(s *storeSeat, g attachment.Grant) {
	h.arrived = &attachment.Attachment{ID: s.machine.ID(), Node: s.machine.Node(), Grant: g}
	if h.lost.IsZero() || !h.control.Lost(h.lost) {
		_ = h.handle.AttachLogicalNode(ended)
	} else {
		_ = h.control.Replace(ended, h.lost)
	}
	h.arrived, h.lost = nil, attachment.ID{}
	h.w.note(attached, h.label, 0, int64(s.machine.Node()))
	s.renew = h.Mono() + record.RenewAfter(h.f.cfg.Window.Duration(),
		func(below time.Duration) time.Duration { return h.w.between(0, below) })
}

// lose handles an attachment that has lost its record.
func (h *storeHolder) lose(s *storeSeat) {
	h.seat = nil
	h.f.result.Lost++
	if errors.Is(s.machine.Cause(), sequencer.ErrDestroyed) {
		h.ended()
		return
	}
	if _, has := s.machine.Grant(); has {
		h.lost = s.machine.ID()
	}
}

// ended drops the handle after its life has ended.
func (h *storeHolder) ended() {
	if rel, held := h.control.Destroy(); held {
		h.released(rel)
	}
	h.f.ledger.Forget(h.label)
	h.handle, h.control, h.seat, h.lost, h.busy = nil, nil, nil, attachment.ID{}, false
}

// Attach implements attachment.Backend: the record has already been taken.
func (h *storeHolder) Attach(context.Context, attachment.Ref, attachment.Preference) (attachment.Attachment, error) {
	if h.arrived == nil {
		return attachment.Attachment{}, sequencer.ErrUnavailable
	}
	return *h.arrived, nil
}

// Detach implements attachment.Backend: the record is returned in the background.
func (h *storeHolder) Detach(_ context.Context, _ attachment.Ref, rel attachment.Release) error {
	h.released(rel)
	if s := h.seat; s != nil && s.machine.ID() == rel.ID {
		h.seat = nil
		h.f.result.Returned++
		s.end = h.w.now + h.f.cfg.Window.Duration()
		s.machine.Stop(rel, h.f.nonce())
		h.stopped = append(h.stopped, s)
		if len(h.stopped) > 4 {
			h.stopped = h.stopped[1:]
		}
		h.drive(s)
	}
	return nil
}

// Destroy implements attachment.Backend. It is not used: users destroy the sequencer without the
// handle.
func (h *storeHolder) Destroy(context.Context, attachment.Ref) error { return nil }

// Read implements attachment.Clock. lasts is 0: every ID needs another reading.
func (h *storeHolder) Read() (now clustertime.Tick, lasts, mono time.Duration) { return h.Now(), 0, 0 }

// Wait implements attachment.Clock: it returns immediately, because its context has ended.
func (h *storeHolder) Wait(ctx context.Context, until clustertime.Tick, _ <-chan struct{}) error {
	if h.Now() >= until {
		return nil
	}
	return ctx.Err()
}

func (h *storeHolder) holding(id attachment.ID, node sequencer.NodeID) ledger.Holding {
	return ledger.Holding{Name: h.f.def.Name(), Node: node, ID: id}
}

func (h *storeHolder) released(rel attachment.Release) {
	h.w.note(released, h.label, int64(rel.Node), int64(rel.LastUsed))
	h.f.released(h.holding(rel.ID, rel.Node), rel.LastUsed)
}

// issue generates IDs.
func (h *storeHolder) issue() {
	if h.handle == nil || h.handle.State() != sequencer.Attached {
		return
	}
	buffer := h.f.buffer[:1+h.w.rng.IntN(8)]
	if h.w.chance(0.001) {
		buffer = h.f.buffer // more than fit into a millisecond
	}
	k, _ := h.handle.Fill(ended, buffer)
	if k == 0 {
		return
	}
	h.w.note(issued, h.label, int64(buffer[0]), int64(k))
	a, _ := h.control.Held()
	h.f.check(h.f.ledger.Issued(h.label, h.holding(a.ID, a.Node), h.f.def, buffer[:k]))
}
