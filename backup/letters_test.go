package backup

import (
	"errors"
	"slices"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// isHeld is O4 and R5: every in-sync replica and the joining one have acknowledged the
// number in their last answer.
func (w *world) isHeld(p *process, e roster.Partition, number uint64) bool {
	for _, i := range append(slices.Clone(e.InSync), e.Joining) {
		if i == p.name || i == "" {
			continue
		}
		var last roster.Version
		for _, s := range p.said[i] {
			last = max(last, s.version)
		}
		enough := func(s saying) bool { return s.version == last && s.number >= number }
		if !slices.ContainsFunc(p.said[i], enough) {
			return false
		}
	}
	return true
}

// answer records a reply to a client. Every owner of a later term has the change too (I4).
func (w *world) answer(t *rapid.T, at Position) {
	w.seen["answers"]++
	w.answered = append(w.answered, at)
	for _, o := range w.terms {
		if o.Term > at.Term && w.made[o].lost == w.made[at].lost {
			w.seen["late answers"]++
			w.mustContain(t, o, w.made[o].lines, at)
		}
	}
}

// checkInSync checks that every in-sync replica of the newest roster has all changes that
// were answered since the last loss.
func (w *world) checkInSync(t *rapid.T) {
	e := w.entry()
	for _, a := range w.answered {
		if w.made[a].lost != e.LostTerm {
			continue
		}
		for _, i := range e.InSync {
			w.mustContain(t, w.of(i).replica.Position(), w.of(i).diary.lines, a)
		}
	}
}

// send has an owner send an update to a needed replica, sometimes to another one. Of many
// changes it sometimes sends only the first.
func (w *world) send(t *rapid.T) {
	p := w.draw(t, true)
	if p == nil {
		return
	}
	to := p.replica.Needed()
	if len(to) == 0 || rapid.IntRange(0, 7).Draw(t, "any member") == 0 {
		to = w.members()
	}
	i := rapid.SampledFrom(to).Draw(t, "to")
	if u, due := p.replica.Update(i); due && i != p.name {
		if len(u.Changes) > 1 && rapid.Bool().Draw(t, "the first") {
			u.Changes = u.Changes[:1]
			u.Position.Number = u.Since + 1
		}
		w.mail = append(w.mail, letter{from: p, to: w.of(i), update: u})
	}
}

func (w *world) drawLetter(t *rapid.T) int {
	return rapid.IntRange(0, len(w.mail)-1).Draw(t, "letter")
}

// deliver delivers a message, and keeps a copy of some.
func (w *world) deliver(t *rapid.T) {
	if len(w.mail) == 0 {
		return
	}
	at := w.drawLetter(t)
	l := w.mail[at]
	if rapid.IntRange(0, 3).Draw(t, "once more") > 0 {
		w.mail = slices.Delete(w.mail, at, at+1)
	}
	if l.answer {
		w.hearAnswer(l)
		return
	}
	w.mail = append(w.mail, w.accept(t, l))
}

func (w *world) forget(t *rapid.T) {
	if len(w.mail) > 0 {
		at := w.drawLetter(t)
		w.mail = slices.Delete(w.mail, at, at+1)
	}
}

// sync shows an owner the newest roster and sends updates without losses until no replica
// lacks a change.
func (w *world) sync(t *rapid.T) {
	p := w.draw(t, true)
	if p == nil {
		if p = w.of(w.entry().Owner); p == nil {
			return
		}
	}
	if rapid.Bool().Draw(t, "newest") {
		w.show(t, p, w.newest().Version)
	}
	for _, i := range p.replica.Needed() {
		for range 3 {
			if u, due := p.replica.Update(i); due {
				w.hearAnswer(w.accept(t, letter{from: p, to: w.of(i), update: u}))
			}
		}
	}
}

// accept checks B1.
func (w *world) accept(t *rapid.T, l letter) letter {
	p, u := l.to, l.update
	before, acted := p.replica.Position(), p.replica.Acts()
	var want error
	switch {
	case u.Position.Term < p.heard:
		want = ErrOldTerm
		w.seen["old terms"]++
	case u.Whole == nil && (before.Term != u.Position.Term || before.Number < u.Since):
		want = ErrGap
		w.seen["gaps"]++
	}
	p.heard = max(p.heard, u.Position.Term)
	held, err := p.replica.Accept(u)
	if !errors.Is(err, want) || held != p.replica.Position() {
		t.Fatalf("%s at %v, %d heard of, was sent %+v: %v, %v; want %v", p.name, before, p.heard, u, held, err, want)
	}
	after := before
	if want == nil {
		p.shown = max(p.shown, u.Version)
		if u.Position.Compare(before) > 0 {
			after = u.Position
		}
	}
	if held != after {
		t.Fatalf("%s at %v was sent %+v and is at %v, want %v", p.name, before, u, held, after)
	}
	if acted && !p.replica.Acts() {
		w.seen["deposed by a message"]++
	}
	return letter{from: p, to: l.from, update: u, answer: true, held: held, newest: p.replica.Newest(),
		gap: errors.Is(err, ErrGap)}
}

// hearAnswer delivers the answer to an owner's update.
func (w *world) hearAnswer(l letter) {
	p, i := l.to, l.from.name
	p.hear(l.newest)
	if l.gap {
		p.replica.Behind(i)
		delete(p.said, i)
		return
	}
	if p.replica.Acts() && l.held.Term == p.served && l.held.Number <= p.replica.Position().Number {
		p.said[i] = append(p.said[i], saying{l.update.Version, l.held.Number})
	}
	p.replica.Acknowledged(i, l.update.Version, l.held)
}
