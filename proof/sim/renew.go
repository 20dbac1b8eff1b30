package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// renewDue renews what the holder has in a partition, if that is due: all at once
// if the owner knows it so, else one by one.
func (h *holder) renewDue(id roster.PartitionID) {
	if h.renews[id] {
		return
	}
	var mine []*entry
	due := false
	for _, e := range h.entries {
		if e.control != nil && roster.PartitionOf(e.def.Name(), len(h.dir.Partitions)) == id {
			mine = append(mine, e)
			due = due || e.next <= h.Mono()
		}
	}
	if !due {
		return
	}
	quarter := h.window() / 4
	for _, e := range mine {
		e.next = h.Mono() + quarter - h.w.between(0, quarter/5)
	}
	h.renews[id] = true
	h.renewSet(mine, func() { delete(h.renews, id) })
}

func (h *holder) window() time.Duration {
	return h.dir.Settings.Window.Duration()
}

// renewSet shows all of a partition's entries by one print.
func (h *holder) renewSet(mine []*entry, done func()) {
	var print sequencer.Print
	told := make([]sequencer.Attachment, len(mine))
	claims := make([]partition.Claim, len(mine))
	controls := make([]*sequencer.Control, len(mine))
	for i, e := range mine {
		held, has := e.control.Held()
		if has && e.last.ID != held.ID {
			h.renewClaims(mine, done)
			return
		}
		if has {
			told[i] = e.last
		}
		controls[i], claims[i] = e.control, e.claim(told[i])
		print = print.With(sequencer.PrintOf(e.control.Ref().Life, told[i]))
	}
	m := h.owner(mine[0].def.Name())
	if m == nil {
		h.renewFailed(mine, done)
		return
	}
	began := h.Mono()
	call(&h.process, &m.process, time.Second, func(reply func(answer[clustertime.Tick])) {
		askOwner(m, mine[0].def.Name(), func(o *actor, v partition.View, reply func(clustertime.Tick, error)) {
			o.machine.RenewSet(v, h.id, partition.ClaimSet{Count: len(mine), Print: print}, func(until clustertime.Tick, err error) {
				for i, c := range claims {
					o.show(h.id, c, told[i], err)
				}
				reply(until, err)
			})
		}, reply)
	}, func(a answer[clustertime.Tick], err error) {
		switch {
		case err != nil:
			h.renewFailed(mine, done)
		case a.err != nil || a.value == 0:
			h.renewClaims(mine, done)
		default:
			h.stamped(a.stamp, began)
			for i, e := range mine {
				if e.control == controls[i] {
					e.extended(told[i], a.stamp, a.value)
				}
			}
			done()
		}
	})
}

// extended delivers the new end of an attachment's grant.
func (e *entry) extended(told sequencer.Attachment, s stamp, until clustertime.Tick) {
	e.seen = max(e.seen, s.version)
	if told.ID.IsZero() {
		return
	}
	g := sequencer.Grant{From: told.Grant.From, Until: until}
	e.control.Renewed(told.ID, g)
	e.granted(told.ID, g)
	e.hurry(g)
}

func (h *holder) renewFailed(mine []*entry, done func()) {
	for _, e := range mine {
		e.next = h.Mono() + retryAfter
	}
	h.lookUp()
	done()
}

// renewClaims shows entries one by one.
func (h *holder) renewClaims(mine []*entry, done func()) {
	mine = slices.DeleteFunc(slices.Clone(mine), func(e *entry) bool { return e.control == nil }) // ended meanwhile
	if len(mine) == 0 {
		done()
		return
	}
	m := h.owner(mine[0].def.Name())
	if m == nil {
		h.renewFailed(mine, done)
		return
	}
	claims := make([]partition.Claim, len(mine))
	shown := make([]sequencer.Attachment, len(mine))
	controls := make([]*sequencer.Control, len(mine))
	for i, e := range mine {
		controls[i] = e.control
		shown[i], _ = e.control.Held()
		claims[i] = e.claim(shown[i])
	}
	began := h.Mono()
	call(&h.process, &m.process, time.Second, func(reply func(answer[[]partition.Renewed])) {
		askOwner(m, mine[0].def.Name(), func(o *actor, v partition.View, reply func([]partition.Renewed, error)) {
			o.machine.Renew(v, h.id, claims, func(out []partition.Renewed, err error) {
				for i := range out {
					o.show(h.id, claims[i], shown[i], out[i].Err)
				}
				reply(out, err)
			})
		}, reply)
	}, func(a answer[[]partition.Renewed], err error) {
		if err != nil || a.err != nil {
			h.renewFailed(mine, done)
			return
		}
		h.stamped(a.stamp, began)
		for i, e := range mine {
			if e.control == controls[i] {
				e.renewed(shown[i], a.stamp, a.value[i])
			}
		}
		done()
	})
}

// renewed delivers the answer to one claim.
func (e *entry) renewed(shown sequencer.Attachment, s stamp, res partition.Renewed) {
	switch {
	case res.Err == nil:
		e.seen = max(e.seen, s.version)
		if !shown.ID.IsZero() {
			e.last = sequencer.Attachment{ID: shown.ID, Node: shown.Node, Grant: res.Grant}
			e.control.Renewed(shown.ID, res.Grant)
			e.granted(shown.ID, res.Grant)
			e.hurry(res.Grant)
		}
	case errors.Is(res.Err, sequencer.ErrDestroyed):
		e.end()
	case errors.Is(res.Err, sequencer.ErrDetached):
		e.attach(shown.ID)
	default:
		e.next = e.h.Mono() + retryAfter
		e.h.lookUp()
	}
}

// hurry renews a grant again soon that does not reach as far ahead as it should.
func (e *entry) hurry(g sequencer.Grant) {
	now := e.h.Now()
	if g.From > now || g.Until.Sub(now) < clustertime.SpanOf(e.h.window()/2) {
		e.next = e.h.Mono() + retryAfter
	}
}
