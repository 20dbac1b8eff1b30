package explore

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
)

func (l *failoverLab) steps(w *failoverWorld, emit emitter[failoverWorld]) {
	l.serverSteps(w, emit)
	for u := range l.scope.Attachments {
		if w.users[u].holding == nil {
			if u == 0 || w.users[u-1].holding != nil { // they are otherwise equal
				l.takeSteps(w, u, emit)
			}
			continue
		}
		l.landSteps(w, u, emit)
		l.answerSteps(w, u, emit)
		l.holderSteps(w, u, emit)
	}
}

// serverSteps emits the steps of time and of the servers.
func (l *failoverLab) serverSteps(w *failoverWorld, emit emitter[failoverWorld]) {
	if int(w.now) < l.scope.Ticks {
		next := *w
		next.now++
		l.settle(&next)
		emit(&next, "a tick passes: %d", next.now)
	}
	if int(w.newest) < l.scope.Servers {
		if w.replica != w.slots[w.newest] {
			next := *w
			next.replica = w.slots[w.newest]
			emit(&next, "server %d's record is replicated: %s", w.newest, tellLater{next.replica.record})
		}
		next := *w
		next.off[w.newest] = w.now + 1
		next.newest++
		next.slots[next.newest] = w.replica
		l.settle(&next)
		emit(&next, "server %d takes over: %s", next.newest, tellLater{w.replica.record})
	}
	for v := int8(1); v <= w.newest; v++ {
		switch {
		case l.isDead(w, v) || w.slots[v].record != nil:
		case w.making[v] == nil:
			next := *w
			r := record.Born(l.life, next.fresh())
			if l.weak == BornGranted {
				r.Generation = generation(v)
			}
			next.making[v] = &r
			emit(&next, "a new record is sent to server %d", v)
		default:
			next := *w
			next.slots[v] = recordSlot{record: w.making[v], revision: next.fresh()}
			next.making[v] = nil
			emit(&next, "server %d has the new record", v)
		}
	}
}

// each calls f with every server that replies and every clock reading.
func (l *failoverLab) each(w *failoverWorld, f func(v int8, b record.Bounds)) {
	for v := int8(1); v <= w.newest; v++ {
		for ahead := range l.scope.Skew + 1 {
			if w.slots[v].record != nil {
				f(v, record.Bounds{
					Now: base + clustertime.Tick(int(w.now)+ahead), Window: clustertime.Span(l.scope.Window),
					Life: l.life, Epoch: base, Generation: generation(v), Quarantine: l.quarantine(),
				})
			}
		}
	}
}

func (l *failoverLab) takeSteps(w *failoverWorld, u int, emit emitter[failoverWorld]) {
	l.each(w, func(v int8, b record.Bounds) {
		s := w.slots[v]
		take := func(b record.Bounds, text string) {
			next := *w
			h, err := record.NewHolding(attachment.ID{byte(u + 1)}, record.Candidate{Record: *s.record}, s.revision,
				"task", next.fresh(), b)
			if err != nil {
				return
			}
			next.users[u].holding = h
			body := l.send(&next, u, v)
			emit(&next, "T%d, whose clock shows %d, sends a take to server %d%s: %s", u+1, b.Now-base, v, text, tellLater{body})
		}
		take(b, "")
		if l.weak == GenerationReadBefore && s.record.Generation != "" && s.record.Generation < b.Generation {
			b.Generation = s.record.Generation
			take(b, ", and read the generation before")
		}
	})
}

// send sends an attachment's pending write.
func (l *failoverLab) send(w *failoverWorld, u int, to int8) *record.Record {
	_, body, revision := w.users[u].holding.Want()
	if l.weak == ReturnGrants && body.State == record.Free {
		body.Generation = generation(to)
	}
	l.change(w, u, (*record.Holding).Sent)
	user := &w.users[u]
	user.sent = append(user.sent, sentTo{sentRecord{body: &body, revision: revision, copies: 1}, to})
	return &body
}

// landSteps delivers an attachment's requests to servers.
func (l *failoverLab) landSteps(w *failoverWorld, u int, emit emitter[failoverWorld]) {
	for at, s := range w.users[u].sent {
		if s.landed != "" || l.isDead(w, s.server) || w.slots[s.server].revision != s.revision {
			continue
		}
		next := *w
		next.slots[s.server] = recordSlot{record: s.body, revision: next.fresh()}
		next.users[u].sent = slices.Clone(w.users[u].sent)
		next.users[u].sent[at].landed = next.slots[s.server].revision
		l.settle(&next)
		emit(&next, "server %d accepts T%d's swap: %s", s.server, u+1, tellLater{s.body})
	}
}

// answerSteps delivers the outcomes of an attachment's requests.
func (l *failoverLab) answerSteps(w *failoverWorld, u int, emit emitter[failoverWorld]) {
	user := &w.users[u]
	for _, s := range user.sent {
		if s.landed != "" {
			next := *w
			fresh := next.fresh()
			l.change(&next, u, func(h *record.Holding) { h.Swapped(s.body.Nonce, record.Landed, s.landed, fresh) })
			emit(&next, "T%d is answered: %s", u+1, tellLater{s.body})
		}
	}
	want, pending, _ := user.holding.Want()
	if want == record.Nothing || want == record.Swap && copiesOf(user.holding) == 0 {
		return
	}
	for v := int8(1); v <= w.newest; v++ {
		if l.isDead(w, v) {
			continue
		}
		seen := record.Seen{Revision: w.slots[v].revision}
		if r := w.slots[v].record; r == nil {
			seen.Err = errors.Join(record.ErrDamaged, errMissing)
		} else {
			seen.Record = *r
		}
		next := *w
		fresh := next.fresh()
		l.change(&next, u, func(h *record.Holding) {
			h.Swapped(pending.Nonce, record.Unknown, "", fresh)
			h.Read(seen, fresh)
		})
		emit(&next, "T%d reads server %d: %s", u+1, v, tellLater{w.slots[v].record})
	}
}

// holderSteps emits an attachment's own steps.
func (l *failoverLab) holderSteps(w *failoverWorld, u int, emit emitter[failoverWorld]) {
	user := &w.users[u]
	if user.holding.Phase() == record.Holds && user.holding.Idle() {
		l.each(w, func(v int8, b record.Bounds) {
			next := *w
			fresh := next.fresh()
			var err error
			l.change(&next, u, func(h *record.Holding) { err = h.Extend(nil, fresh, b) })
			if err != nil {
				return // it would have no effect
			}
			body := l.send(&next, u, v)
			emit(&next, "T%d, whose clock shows %d, sends an extension to server %d: %s", u+1, b.Now-base, v, tellLater{body})
		})
	}
	if want, _, revision := user.holding.Want(); want == record.Swap && user.stopped {
		for v := int8(1); v <= w.newest; v++ { // a return depends on no generation (Q5)
			sent := slices.ContainsFunc(user.sent, func(s sentTo) bool {
				return s.server == v &&
					s.body.Nonce == pendingNonce(user.holding)
			})
			if !sent && !l.isDead(w, v) && w.slots[v].revision == revision {
				next := *w
				body := l.send(&next, u, v)
				emit(&next, "T%d sends a return to server %d: %s", u+1, v, tellLater{body})
			}
		}
	}
	if user.stopped || user.holding.Phase() == record.Lost {
		return
	}
	for _, used := range []int{-1, bits.Len16(user.rights) - 1} {
		next := *w
		rel := attachment.Release{ID: user.holding.ID()}
		if used >= 0 {
			rel.LastUsed = base + clustertime.Tick(used)
		}
		next.users[u].stopped = true
		next.users[u].rights &= below(base + clustertime.Tick(used) + 1)
		fresh := next.fresh()
		l.change(&next, u, func(h *record.Holding) { h.Stop(rel, fresh) })
		emit(&next, "T%d stops, last used %d", u+1, used)
		if user.rights == 0 {
			break
		}
	}
}
