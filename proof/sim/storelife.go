package sim

import (
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// read is the document with its revision.
type read struct {
	document record.Document
	revision string
	err      error
}

// withDocument reads the document and passes it to a function, if a reply arrives in time.
func (h *storeHolder) withDocument(do func(record.Document, string)) {
	h.busy = true
	s, over := h.f.server(), false
	callStore(h, s, func() (r read) {
		r.document, r.revision, r.err = s.document()
		return r
	}, func(r read, answered bool) {
		if over {
			return
		}
		over, h.busy = true, false
		if answered && r.err == nil {
			do(r.document, r.revision)
		}
	})
}

// open creates a handle on the current life. If the life is being destroyed, it continues the
// destroy; if it is destroyed, it creates the next life.
func (h *storeHolder) open() {
	h.withDocument(func(d record.Document, revision string) {
		switch d.Phase {
		case record.Alive:
			h.lives++
			h.label = fmt.Sprintf("%s.%d", h.name, h.lives)
			h.ref, h.mark = d.Ref(), d.Mark
			h.handle, h.control = attachment.New(h.ref, h, h)
		case record.Destroying:
			h.finish(d, revision)
		case record.Destroyed:
			if next, err := d.Recreate(d.Definition, h.f.life(), h.f.nonce()); err == nil {
				h.change(next, revision)
			}
		}
	})
}

// change swaps the document. The next read returns the outcome.
func (h *storeHolder) change(d record.Document, revision string) {
	s := h.f.server()
	callStore(h, s, func() swapped { return h.f.swap(s, documentKey, d.Encode(), revision, "") }, func(swapped, bool) {})
}

// destroy starts to destroy the current life (H7).
func (h *storeHolder) destroy() {
	h.withDocument(func(d record.Document, revision string) {
		if next, begins := d.BeginDestroy(h.f.nonce()); begins {
			h.f.result.Destroyed++
			h.change(next, revision)
		}
	})
}

// finish closes the open records in a life that is being destroyed, or ends the life.
func (h *storeHolder) finish(d record.Document, revision string) {
	s, over := h.f.server(), false
	callStore(h, s, func() []record.Seen {
		var all []record.Seen
		for i := range sequencer.NodeID(h.f.cfg.Pool) {
			all = append(all, s.seen(i))
		}
		return all
	}, func(all []record.Seen, answered bool) {
		if over {
			return
		}
		if over = true; !answered {
			return
		}
		var records []record.Record
		for i, seen := range all {
			if seen.Err != nil {
				return // a damaged record blocks the destroy until its repair
			}
			records = append(records, seen.Record)
			if closed, open, err := seen.Record.Close(d.Life, h.f.nonce()); err == nil && open {
				callStore(h, s, func() swapped {
					return h.f.swap(s, recordKey(sequencer.NodeID(i)), closed.Encode(), seen.Revision, "")
				}, func(swapped, bool) {})
			}
		}
		if next, err := d.EndDestroy(records, h.f.nonce()); err == nil {
			h.change(next, revision)
		}
	})
}

// operate simulates the operator, who works at the server: it retires and restores records, and
// repairs missing records.
func (f *fleet) operate() {
	f.w.after(f.w.between(0, 10*time.Second), f.operate)
	s := f.servers[len(f.servers)-1]
	d, _, err := s.document()
	if err != nil || !s.answers(f.w.now) || !f.cfg.Operates {
		return
	}
	node := sequencer.NodeID(f.w.rng.IntN(f.cfg.Pool))
	seen := s.seen(node)
	if seen.Err != nil {
		epoch := clustertime.TickOf(f.def.Config().Epoch.Time())
		if r, err := record.Repaired(d.Life, max(f.bounds[node], epoch), epoch, 0, f.nonce()); err == nil {
			f.swap(s, recordKey(node), r.Encode(), seen.Revision, "")
		}
		return
	}
	next, ok, err := seen.Record.Restore(d.Life, f.nonce())
	if seen.Record.State != record.Retired {
		if !f.w.chance(0.3) {
			return
		}
		next, ok, err = seen.Record.Retire(d.Life, f.nonce())
	}
	if err == nil && ok {
		f.result.Retired++
		f.swap(s, recordKey(node), next.Encode(), seen.Revision, "")
	}
}

// fault injects a fault, and schedules the next.
func (f *fleet) fault() {
	f.w.after(f.w.between(0, 2*f.cfg.Faults), f.fault)
	if len(f.holders) == 0 {
		return // all holders are about to restart
	}
	h := pick(f.w, f.holders)
	window := f.cfg.Window.Duration()
	kind := f.w.rng.IntN(8)
	f.result.Faults++
	switch kind {
	case 0:
		f.end(h)
		f.w.after(f.w.between(0, 5*time.Second), func() { f.newHolder() })
	case 1:
		h.until = f.w.now + f.w.between(0, 3*window)
	case 2:
		h.cut = f.w.now + f.w.between(0, 3*window)
	case 3:
		f.servers[len(f.servers)-1].down = f.w.now + f.w.between(0, 2*window)
	case 4, 5:
		if f.cfg.Lossy {
			f.failover()
			break
		}
		h.wall = h.wall.Add(clustertime.SpanOf(f.w.between(-time.Hour, time.Hour)))
	case 6:
		if !f.cfg.Lossy {
			h.run(int64(f.w.rng.IntN(40_000)) - 20_000)
		}
	case 7:
		if f.cfg.Deletes && f.w.chance(0.3) {
			f.result.Deleted++
			delete(f.servers[len(f.servers)-1].entries, recordKey(sequencer.NodeID(f.w.rng.IntN(f.cfg.Pool))))
		}
	}
	f.w.note(faulted, h.name, int64(kind), int64(h.place))
}
