package explore

import (
	"errors"
	"slices"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

func (l *recordLab) steps(w *recordWorld, emit emitter[recordWorld]) {
	l.lifeSteps(w, emit)
	for i := range l.scope.Nodes {
		l.operatorSteps(w, i, emit)
	}
	for u := range l.scope.Attachments {
		user := &w.users[u]
		switch {
		case !user.open:
			if (u == 0 || w.users[u-1].open) && w.document.Phase == record.Alive { // they are otherwise equal
				next := *w
				next.users[u].open = true
				next.users[u].bounds = record.Bounds{Life: w.document.Life, Mark: w.document.Mark, Epoch: base}
				emit(&next, "T%d opens life %d, mark %d", u+1, record.LifeNumber(w.document.Life), max(0, w.document.Mark-base))
			}
		case user.holding == nil:
			l.takeSteps(w, u, emit)
		default:
			l.storeSteps(w, u, emit)
			l.answerSteps(w, u, emit)
			l.holderSteps(w, u, emit)
		}
	}
}

// lifeSteps emits the steps of the sequencer's document.
func (l *recordLab) lifeSteps(w *recordWorld, emit emitter[recordWorld]) {
	d := w.document
	if int(record.LifeNumber(d.Life)) < l.scope.Lives {
		next := *w
		if changed, ok := d.BeginDestroy(l.nonce(&next)); ok {
			next.document = changed
			emit(&next, "a destroy of life %d begins", record.LifeNumber(d.Life))
		}
	}
	for life := uint64(1); life <= record.LifeNumber(d.Life); life++ {
		if life == record.LifeNumber(d.Life) && d.Phase == record.Alive {
			break
		}
		for i := range l.scope.Nodes {
			l.closeStep(w, i, record.NewLife(life, [8]byte{}), emit)
		}
	}
	var all []record.Record
	for _, s := range w.slots[:l.scope.Nodes] {
		switch {
		case s.record != nil:
			all = append(all, *s.record)
		case l.weak != MissingSkipped:
			return // a missing record stops the destroy
		}
	}
	next := *w
	if ended, err := d.EndDestroy(all, l.nonce(&next)); err == nil {
		next.document = ended
		emit(&next, "the destroy of life %d ends, mark %d", record.LifeNumber(d.Life), max(0, ended.Mark-base))
	}
	next = *w
	if again, err := d.Recreate(d.Definition, [8]byte{}, l.nonce(&next)); err == nil {
		next.document = again
		emit(&next, "the sequencer is created again: life %d", record.LifeNumber(again.Life))
	}
}

// closeStep closes a record for a destroy of a life; the destroy may have begun long ago.
func (l *recordLab) closeStep(w *recordWorld, i int, life attachment.Life, emit emitter[recordWorld]) {
	if w.slots[i].record == nil {
		return
	}
	next := *w
	if closed, ok, err := w.slots[i].record.Close(life, l.nonce(&next)); err == nil && ok {
		l.write(&next, i, &closed)
		emit(&next, "the destroy of life %d closes node %d: %s", record.LifeNumber(life), i, tellLater{&closed})
	}
}

// operatorSteps emits an operator's steps, and the loss of a record.
func (l *recordLab) operatorSteps(w *recordWorld, i int, emit emitter[recordWorld]) {
	have := w.slots[i].record
	if int(w.steps) < l.scope.Operations {
		change := func(r record.Record, ok bool, err error, done string) {
			next := *w
			if next.steps++; err == nil && ok {
				r.Nonce = l.nonce(&next)
				l.write(&next, i, &r)
				emit(&next, "node %d is %s: %s", i, done, tellLater{&r})
			}
		}
		life := w.document.Life
		if have == nil {
			// The operator states a floor above every grant.
			r, err := record.Repaired(life, base+clustertime.Tick(l.scope.Ticks), base, 0, "-")
			if l.weak == MissingMadeAfresh {
				r, err = record.Born(life, "-"), nil
			}
			change(r, true, err, "made again")
			return
		}
		r, ok, err := have.Retire(life, "-")
		change(r, ok, err, "retired")
		r, ok, err = have.Restore(life, "-")
		change(r, ok, err, "restored")
	}
	if have != nil && int(w.deletes) < l.scope.Deletes {
		next := *w
		next.deletes++
		l.write(&next, i, nil)
		emit(&next, "the record of node %d is deleted", i)
	}
}

// clocks calls f with every clock and window for which grants stay in the scope.
func clocks(ticks int, f func(now clustertime.Tick, window clustertime.Span)) {
	for window := clustertime.Span(1); window <= 2; window++ {
		for now := base; now.Add(window) <= base+clustertime.Tick(ticks); now++ {
			f(now, window)
		}
	}
}

// takeSteps starts to take a record.
func (l *recordLab) takeSteps(w *recordWorld, u int, emit emitter[recordWorld]) {
	for i, s := range w.slots[:l.scope.Nodes] {
		if s.record == nil {
			continue
		}
		read := *s.record
		if l.weak == OlderBound && s.before != nil {
			read = *s.before
		}
		clocks(l.scope.Ticks, func(now clustertime.Tick, window clustertime.Span) {
			next := *w
			user := &next.users[u]
			b := user.bounds
			b.Now, b.Window = now, window
			h, err := record.NewHolding(attachment.ID{byte(u + 1)},
				record.Candidate{Node: sequencer.NodeID(i), Record: read}, s.revision, "task", l.nonce(&next), b)
			if err != nil {
				return
			}
			user.holding, user.node = h, sequencer.NodeID(i)
			body := l.send(&next, u)
			emit(&next, "T%d sends a take of node %d: %s", u+1, i, tellLater{body})
		})
	}
}

// send sends an attachment's pending write.
func (l *recordLab) send(w *recordWorld, u int) *record.Record {
	_, body, revision := w.users[u].holding.Want()
	w.change(u, (*record.Holding).Sent)
	user := &w.users[u]
	if at := slices.IndexFunc(user.sent, func(s sentRecord) bool {
		return s.revision == revision &&
			s.body.Nonce == body.Nonce
	}); at >= 0 {
		user.sent[at].copies++
		return user.sent[at].body
	}
	user.sent = append(user.sent, sentRecord{body: &body, revision: revision, copies: 1})
	return &body
}

// storeSteps delivers an attachment's requests to the store.
func (l *recordLab) storeSteps(w *recordWorld, u int, emit emitter[recordWorld]) {
	user := &w.users[u]
	for at, s := range user.sent {
		if s.landed != "" || s.revision != w.slots[user.node].revision && l.weak != SwapsUnchecked {
			continue
		}
		next := *w
		l.write(&next, int(user.node), s.body)
		next.users[u].sent = slices.Clone(user.sent)
		next.users[u].sent[at].landed = next.slots[user.node].revision
		for i := range next.users {
			if i != u && next.users[i].holding != nil {
				next.change(i, func(*record.Holding) {}) // some of their requests can no longer be applied
			}
		}
		next.change(u, func(*record.Holding) {})
		emit(&next, "T%d's swap of node %d lands: %s", u+1, user.node, tellLater{s.body})
	}
}

// answerSteps delivers the outcomes of an attachment's requests.
func (l *recordLab) answerSteps(w *recordWorld, u int, emit emitter[recordWorld]) {
	user := &w.users[u]
	want, _, _ := user.holding.Want()
	for _, s := range user.sent {
		answer := func(a record.Answer, text string) {
			next := *w
			fresh := l.nonce(&next)
			next.change(u, func(h *record.Holding) { h.Swapped(s.body.Nonce, a, s.landed, fresh) })
			emit(&next, "T%d is answered: %s (%s)", u+1, text, tellLater{s.body})
		}
		if l.scope.Late {
			answer(record.Unknown, "the outcome is unknown")
		}
		if s.landed != "" {
			answer(record.Landed, "the swap landed")
		}
		if s.revision != w.slots[user.node].revision && (s.landed == "" || s.copies > 1) {
			answer(record.Refused, "the swap was refused")
		}
	}
	present := record.Seen{Revision: w.slots[user.node].revision}
	if r := w.slots[user.node].record; r == nil {
		present.Err = errors.Join(record.ErrDamaged, errMissing)
	} else {
		present.Record = *r
	}
	read := func(seen record.Seen, text string) {
		next := *w
		fresh := l.nonce(&next)
		next.users[u].loaded = nil
		next.change(u, func(h *record.Holding) { h.Read(seen, fresh) })
		emit(&next, "T%d reads %s: %s", u+1, text, tellLater{&seen.Record})
	}
	if want == record.Swap && len(user.sent) > 0 && !l.scope.Late {
		// Only the read can follow from an unknown outcome.
		next := *w
		fresh := l.nonce(&next)
		next.change(u, func(h *record.Holding) {
			_, body, _ := h.Want()
			h.Swapped(body.Nonce, record.Unknown, "", fresh)
			h.Read(present, fresh)
		})
		emit(&next, "T%d has no answer and reads its record: %s", u+1, tellLater{&present.Record})
	}
	if want == record.Load {
		read(present, "its record")
		if user.loaded != nil {
			read(*user.loaded, "its record as it was")
		} else if l.scope.Late {
			next := *w
			next.users[u].loaded = &present
			emit(&next, "T%d's read is slow", u+1)
		}
	}
}

// holderSteps emits an attachment's own steps.
func (l *recordLab) holderSteps(w *recordWorld, u int, emit emitter[recordWorld]) {
	user := &w.users[u]
	want, pending, revision := user.holding.Want()
	if want == record.Swap {
		again := slices.ContainsFunc(user.sent, func(s sentRecord) bool {
			return s.revision == revision &&
				s.body.Nonce == pending.Nonce
		})
		if !again || l.scope.Resends && copiesOf(user.holding) == 1 {
			next := *w
			body := l.send(&next, u)
			emit(&next, "T%d sends a swap: %s", u+1, tellLater{body})
		}
	}
	if user.holding.Phase() == record.Holds {
		l.keepSteps(w, u, emit)
	}
	if user.stopped || user.holding.Phase() == record.Lost && !l.scope.Looks {
		return // one that has lost its record would only use less
	}
	for t := clustertime.Tick(-1); t < clustertime.Tick(l.scope.Ticks); t++ {
		if t >= 0 && user.rights&(1<<t) == 0 {
			continue
		}
		next := *w
		rel := attachment.Release{ID: user.holding.ID(), Node: user.node}
		if t >= 0 {
			rel.LastUsed = base + t
		}
		next.users[u].stopped = true
		if l.weak != ReturnedInUse {
			next.users[u].rights &= below(base + t + 1)
		}
		fresh := l.nonce(&next)
		next.change(u, func(h *record.Holding) { h.Stop(rel, fresh) })
		emit(&next, "T%d stops, last used %d", u+1, t)
	}
}

// keepSteps emits the steps of an attachment that holds its record.
func (l *recordLab) keepSteps(w *recordWorld, u int, emit emitter[recordWorld]) {
	if w.users[u].holding.Idle() {
		clocks(l.scope.Ticks, func(now clustertime.Tick, window clustertime.Span) {
			next := *w
			b := next.users[u].bounds
			b.Now, b.Window = now, window
			fresh := l.nonce(&next)
			var err error
			next.change(u, func(h *record.Holding) { err = h.Extend(nil, fresh, b) })
			if err != nil {
				emit(&next, "T%d cannot extend", u+1)
				return
			}
			body := l.send(&next, u)
			emit(&next, "T%d sends an extension: %s", u+1, tellLater{body})
		})
	}
	if l.scope.Looks {
		next := *w
		next.change(u, (*record.Holding).Look)
		emit(&next, "T%d is to read its record", u+1)
		next = *w
		next.change(u, func(h *record.Holding) { h.Expire(clustertime.Latest) })
		emit(&next, "T%d's record expires", u+1)
	}
}

// tellLater prints a record when the step is described, which is rare.
type tellLater struct{ *record.Record }

func (r tellLater) String() string { return tellRecord(r.Record) }
