package explore

import (
	"math"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/grants"
	"github.com/snowgrid/snowgrid/sequencer"
)

func (l *generatorLab) steps(w *generatorWorld, emit emitter[generatorWorld]) {
	if w.broken != "" {
		return
	}
	l.timeSteps(w, emit)
	l.ownerSteps(w, emit)
	l.ordinarySteps(w, emit)
	for i := range w.processes {
		p := &w.processes[i]
		if p.machine == nil {
			l.beginStep(w, i, emit)
			break // processes begin in order: they are otherwise equal
		}
		l.callStep(w, i, emit)
		l.requestSteps(w, i, emit)
		l.flightSteps(w, i, emit)
		l.replySteps(w, i, emit)
		l.releaseSteps(w, i, emit)
	}
}

// work returns an operation on a world's owner.
func (w *generatorWorld) work(kind ownerOperation) ownerWork {
	return ownerWork{owner: w.owner, kind: kind, now: w.now}
}

// change performs an operation on a copy of a world's owner.
func (l *generatorLab) change(w *generatorWorld, in ownerWork) (next generatorWorld, out ownerOutcome) {
	next, out = *w, l.owners.do(in)
	next.owner = out.owner
	return next, out
}

// timeSteps emits the steps of the clocks.
func (l *generatorLab) timeSteps(w *generatorWorld, emit emitter[generatorWorld]) {
	pass := func(to int64) (next generatorWorld) {
		next = *w
		for i := range next.processes {
			if p := &next.processes[i]; !l.scope.Clocks || to-w.now > 1 {
				p.at += to - w.now
			}
		}
		next.now = to
		return next
	}
	if int(w.now%leap) < l.scope.Ticks+int(w.now/leap)*leapTo {
		next := pass(w.now + 1)
		emit(&next, "a millisecond passes: %d", next.now)
	}
	if l.scope.Leap && w.now < leap {
		next := pass(leap + leapTo)
		emit(&next, "more than a minute passes: %d", next.now)
	}
	for i := range w.processes {
		if l.scope.Clocks && w.processes[i].machine != nil && int(w.processes[i].at) < l.scope.Ticks {
			next := *w
			next.processes[i].at++
			emit(&next, "a millisecond passes by the clock of P%d: %d", i+1, next.processes[i].at)
		}
	}
}

// ownerSteps emits the owner's own steps.
func (l *generatorLab) ownerSteps(w *generatorWorld, emit emitter[generatorWorld]) {
	if int(w.spent.expiries) < l.scope.Expiries {
		for n := range uint8(l.scope.Nodes) {
			in := w.work(ownerExpires)
			in.number = n
			if next, out := l.change(w, in); out.done {
				next.spent.expiries++
				if next.holder.attached && next.holder.node == out.tenant.Node {
					next.holder.attached = false
				}
				emit(&next, "the session on node %d ends", out.tenant.Node)
			}
		}
	}
	count := func(kind ownerOperation, n *uint8, most int, text string) {
		if int(*n) >= most {
			return
		}
		if next, out := l.change(w, w.work(kind)); out.done {
			next.spent.moves += bit(kind == ownerMoves)
			next.spent.losses += bit(kind == ownerLoses)
			emit(&next, "%s", text)
		}
	}
	count(ownerMoves, &w.spent.moves, l.scope.Moves, "another owner takes over")
	count(ownerLoses, &w.spent.losses, l.scope.Losses, "the table is lost")
	if l.scope.Releases+l.scope.Elsewhere > 0 {
		if next, out := l.change(w, w.work(ownerForgets)); out.done {
			emit(&next, "the owner forgets released attachments")
		}
	}
	if lives := l.owners.owners.get(w.owner).Lives; l.scope.Lives > int(lives) {
		if next, out := l.change(w, w.work(ownerDestroys)); out.done {
			next.holder.attached = false
			emit(&next, "life %d of the sequencer is destroyed", lives)
		}
		if next, out := l.change(w, w.work(ownerCreates)); out.done {
			emit(&next, "the sequencer is created again: life %d", lives+1)
		}
		if next, out := l.change(w, w.work(ownerFolds)); out.done {
			emit(&next, "the owner forgets the ended life")
		}
	}
}

// ordinarySteps emits the ordinary holder's steps. It prefers any node. A reply counts from the
// moment it leaves the owner.
func (l *generatorLab) ordinarySteps(w *generatorWorld, emit emitter[generatorWorld]) {
	h := &w.holder
	if !h.attached {
		for n := sequencer.NodeID(1); int(n) <= l.scope.Nodes && int(h.attachments) < l.scope.Holder; n++ {
			in := w.work(ownerAttaches)
			in.number, in.node = h.attachments+1, n
			if next, out := l.change(w, in); out.done {
				next.holder.attachments++
				next.holder.attached = true
				l.holds(&next, out, emit, "attaches")
			}
		}
		return
	}
	in := w.work(ownerRenews)
	in.number, in.node = h.attachments, h.node
	if next, out := l.change(w, in); out.done {
		l.holds(&next, out, emit, "renews")
	}
	for t := int64(-1); t < leap+leapTicks; t++ {
		switch {
		case t >= leapTicks && t < leap:
			t = leap - 1
			continue
		case t >= 0 && (t < h.from || h.rights[h.node]&ticksOf(t, t+1) == 0):
			continue
		}
		in := w.work(ownerDetaches)
		in.number, in.node = h.attachments, h.node
		if t >= 0 {
			in.last = int64(generatorBase) + t
		}
		if next, out := l.change(w, in); out.done {
			next.holder.attached = false
			next.holder.rights[h.node] &^= ticksOf(max(h.from, t+1), 2*leap)
			emit(&next, "the holder detaches from node %d, last used %d", h.node, t)
		}
	}
}

// holds gives the ordinary holder a grant.
func (l *generatorLab) holds(w *generatorWorld, out ownerOutcome, emit emitter[generatorWorld], verb string) {
	r, h := l.owners.replies.get(out.reply).Reply, &w.holder
	h.node, h.from = sequencer.NodeID(r.Node), sinceBase(r.From)
	h.rights[h.node] |= ticksOf(h.from, sinceBase(r.Until))
	emit(w, "the holder %s: node %d from %d until %d", verb, r.Node, h.from, sinceBase(r.Until))
}

func sinceBase(t int64) int64 { return t - int64(generatorBase) }

// beginStep begins a process.
func (l *generatorLab) beginStep(w *generatorWorld, i int, emit emitter[generatorWorld]) {
	next := *w
	p := &next.processes[i]
	if p.machine = newGeneratorMachine(); i-int(w.spent.forks) < l.scope.Generators {
		emit(&next, "P%d begins", i+1)
	}
	if int(w.spent.forks) >= l.scope.Forks {
		return
	}
	for parent := range i {
		next := *w
		of := &w.processes[parent]
		next.spent.forks++
		child := l.forked(*of)
		next.processes[i] = generatorProcess{machine: child.machine, at: of.at, sentAt: of.sentAt, last: of.last,
			ended: of.ended}
		emit(&next, "P%d continues as a copy of P%d", i+1, parent+1)
	}
}

// callStep emits a call for an ID.
func (l *generatorLab) callStep(w *generatorWorld, i int, emit emitter[generatorWorld]) {
	next := *w
	id := l.next(&next.processes[i])
	if id == 0 {
		emit(&next, "P%d calls, and gets no ID", i+1)
		return
	}
	l.judge(&next, i, id)
	emit(&next, "P%d makes %s", i+1, laterID{l, id})
}

// laterID prints an ID when the step is described, which is rare.
type laterID struct {
	lab *generatorLab
	id  int64
}

func (t laterID) String() string { return t.lab.tellID(t.id) }

// requestSteps emits the sending of a request, and its failure without a reply.
func (l *generatorLab) requestSteps(w *generatorWorld, i int, emit emitter[generatorWorld]) {
	p := &w.processes[i]
	_, ready := p.machine.Due()
	if (ready || l.weak == RequestsAtOnce && fieldsOf(p.machine).err == nil) && int(p.sent) < l.scope.Requests {
		next := *w
		n := &next.processes[i]
		grant := l.request(n)
		n.sent++
		n.flights = append(slices.Clone(n.flights), flight{grant, true})
		emit(&next, "P%d sends a request with %s", i+1, laterGrant{l, grant})
	}
	if p.asks() {
		next := *w
		n := &next.processes[i]
		l.fail(n, "")
		emit(&next, "P%d's request fails", i+1)
	}
}

// fail ends a process's request. Its reply no longer counts.
func (l *generatorLab) fail(p *generatorProcess, code string) {
	l.refused(p, code)
	l.settle(p)
}

// settle drops the replies to a process's request, unless the scope has late ones.
func (l *generatorLab) settle(p *generatorProcess) {
	if l.scope.Late || l.weak.countsLate() {
		return
	}
	p.replies, p.flights = nil, slices.Clone(p.flights)
	for i := range p.flights {
		p.flights[i].current = false
	}
}

// flightSteps emits the arrival of a process's requests at the owner.
func (l *generatorLab) flightSteps(w *generatorWorld, i int, emit emitter[generatorWorld]) {
	for at, f := range w.processes[i].flights {
		in := w.work(ownerGrants)
		if in.grant = f.grant; f.grant == 0 {
			in.number = w.secrets + 1
		}
		next, out := l.change(w, in)
		next.secrets += bit(f.grant == 0)
		p := &next.processes[i]
		if f.current {
			p.replies = append(slices.Clone(p.replies), out.reply)
			slices.Sort(p.replies)
		}
		if int(next.spent.duplicates) < l.scope.Duplicates {
			again := next
			again.spent.duplicates++
			emit(&again, "the owner gets one of two requests of P%d with %s: %s", i+1, laterGrant{l, f.grant},
				laterReply{l, out.reply})
		}
		p.flights = slices.Delete(slices.Clone(p.flights), at, at+1)
		emit(&next, "the owner gets P%d's request with %s: %s", i+1, laterGrant{l, f.grant}, laterReply{l, out.reply})
	}
}

// laterGrant prints a grant when the step is described.
type laterGrant struct {
	lab   *generatorLab
	grant grantID
}

func (g laterGrant) String() string {
	if g.grant == 0 {
		return "no grant"
	}
	t := grantToken(g.lab.owners.texts[g.grant])
	return "grant " + string(rune('a'+t.Secret[0]-1)) + " of node " + string(rune('0'+t.Node))
}

// replySteps emits the arrival of replies at a process.
func (l *generatorLab) replySteps(w *generatorWorld, i int, emit emitter[generatorWorld]) {
	for at, reply := range w.processes[i].replies {
		next := *w
		p := &next.processes[i]
		p.replies = slices.Delete(slices.Clone(p.replies), at, at+1)
		p.receives(l, l.owners.replies.get(reply))
		emit(&next, "P%d receives: %s", i+1, laterReply{l, reply})
	}
}

// receives applies a reply to a process, and counts the ticks that it may use from then on.
func (p *generatorProcess) receives(l *generatorLab, a ownerAnswer) {
	held := fieldsOf(p.machine).grant
	if a.Code != "" {
		l.fail(p, a.Code)
	} else {
		l.replied(p, a.Reply)
		l.settle(p)
	}
	switch {
	case a.Code == "destroyed" && p.ended == endedNot:
		p.ended = endedDestroyed
	case a.Code == "detached" && held != "":
		p.released |= 1 << grantToken(held).Secret[0]
		for n := range p.granted {
			p.revoked[n] |= p.granted[n]
		}
		p.granted = [generatorNodes]uint32{}
	case a.Code == "" && p.released&(1<<grantToken(a.Reply.Grant).Secret[0]) != 0:
		p.revoked[a.Reply.Node] |= ticksOf(sinceBase(a.Reply.From), sinceBase(a.Reply.Until))
	case a.Code == "":
		p.granted[a.Reply.Node] |= ticksOf(sinceBase(a.Reply.From), sinceBase(a.Reply.Until))
	}
}

// laterReply prints a reply when the step is described.
type laterReply struct {
	lab   *generatorLab
	reply ownerReply
}

func (r laterReply) String() string {
	a := r.lab.owners.replies.get(r.reply)
	if a.Code != "" {
		return a.Code
	}
	return tellGrantReply(a.Reply)
}

// releaseSteps emits the release of a grant by its process and by another one, and the arrival of
// the release at the owner.
func (l *generatorLab) releaseSteps(w *generatorWorld, i int, emit emitter[generatorWorld]) {
	p := &w.processes[i]
	if int(w.spent.releases) < l.scope.Releases && fieldsOf(p.machine).err == nil {
		next := *w
		n := &next.processes[i]
		next.spent.releases++
		r := l.released(n)
		if n.ended = endedReleased; r.grant != 0 {
			n.release = []grantRelease{r}
		}
		emit(&next, "P%d releases %s, last used %d", i+1, laterGrant{l, r.grant}, max(-1, sinceBase(r.last)))
	}
	release := func(r grantRelease) (next generatorWorld, out ownerOutcome) {
		in := w.work(ownerReleases)
		in.grant, in.last = r.grant, r.last
		return l.change(w, in)
	}
	for at, r := range p.release {
		next, _ := release(r)
		if int(next.spent.duplicates) < l.scope.Duplicates {
			again := next
			again.spent.duplicates++
			emit(&again, "the owner gets one of two releases of P%d", i+1)
		}
		next.processes[i].release = slices.Delete(slices.Clone(p.release), at, at+1)
		emit(&next, "the owner gets the release of P%d", i+1)
	}
	if grant := fieldsOf(p.machine).grant; int(w.spent.elsewhere) < l.scope.Elsewhere && grant != "" {
		last := int64(clustertime.Tick(math.MaxInt64 - 1)) // as a member does without a last timestamp
		if next, out := release(grantRelease{l.owners.grant(grant), last}); out.done {
			next.spent.elsewhere++
			emit(&next, "another process releases P%d's grant", i+1)
		}
	}
}

func tellGrantReply(r grants.Reply) string {
	return sprintReply(r.Node, sinceBase(r.From), sinceBase(r.Until), sinceBase(r.Now))
}
