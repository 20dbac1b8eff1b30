package backup

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// world is a log of rosters, all processes, which receive the rosters in any order and with
// any delay, and messages that arrive late, twice or never. It records each table as it was
// made, and the replies.
type world struct {
	*history
	processes []*process
	mail      []letter
	made      map[Position]table
	answered  []Position
	terms     []Position
	seen      map[string]int
}

// table is a table as its owner made it.
type table struct {
	by    roster.Incarnation
	lost  roster.Term // the last loss before it
	lines []string
}

// process is a replica, with the rules' view of it.
type process struct {
	*actor
	version roster.Version // of the newest roster it observed
	heard   roster.Term    // the latest term
	served  roster.Term    // the last term that it owned
	shown   roster.Version // the latest at which it reported its position to an owner
	mark    uint64
	said    map[roster.Incarnation][]saying // in this term, since it was found behind
	next    uint64                          // the first number not answered
}

// saying is an acknowledgement: a number, in answer to an update of a version.
type saying struct {
	version roster.Version
	number  uint64
}

// letter is a message: an update, or the answer to one.
type letter struct {
	from, to *process
	update   diaryUpdate
	answer   bool
	held     Position
	newest   roster.Term
	gap      bool
}

// TestReplicas runs a log with random commands, and replicas that follow it as members do.
// An owner replies as soon as AllAcknowledged allows it.
func TestReplicas(t *testing.T) {
	operations := map[string]func(*world, *rapid.T){
		"observe": (*world).observe,
		"write":   (*world).write,
		"send":    (*world).send,
		"deliver": (*world).deliver,
		"lose it": (*world).forget,
		"sync":    (*world).sync,
		"hear":    (*world).hear,
		"raise":   func(w *world, t *rapid.T) { w.raise(t) },
		"promote": (*world).promote,
		"take":    func(w *world, t *rapid.T) { w.take(t) },
		"lose":    func(w *world, t *rapid.T) { w.lose(t) },
		"add":     func(w *world, t *rapid.T) { w.add(t) },
		"admit":   (*world).admitted,
		"drop":    func(w *world, t *rapid.T) { w.drop(t) },
		"restart": func(w *world, t *rapid.T) { w.restart(t) },
	}
	often := []string{"promote", "promote", "add", "admit", "admit"}
	for name := range operations {
		often = append(often, name)
	}
	for range 6 {
		often = append(often, "observe", "observe", "write", "send", "deliver", "deliver", "sync", "admit")
	}
	slices.Sort(often)
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := &world{history: newHistory(t), made: map[Position]table{}, seen: seen}
		w.lose(t)
		w.start()
		for range rapid.IntRange(300, 500).Draw(t, "operations") {
			operations[rapid.SampledFrom(often).Draw(t, "operation")](w, t)
			w.start()
			for _, p := range w.processes {
				w.check(t, p)
			}
			w.checkInSync(t)
		}
	})
	for _, what := range []string{"answers", "late answers", "takeovers with answers", "losses", "admitted", "discarded",
		"kept for an owner", "gaps", "old terms", "deposed by a message"} {
		if seen[what] == 0 {
			t.Errorf("never seen: %s", what)
		}
	}
}

// start creates a process for every member without one.
func (w *world) start() {
	for _, i := range w.members() {
		if w.of(i) == nil {
			w.processes = append(w.processes, &process{actor: newActor(i)})
		}
	}
}

func (w *world) of(i roster.Incarnation) *process {
	for _, p := range w.processes {
		if p.name == i {
			return p
		}
	}
	return nil
}

// draw picks a process, more often one that acts.
func (w *world) draw(t *rapid.T, acting bool) *process {
	var from []*process
	for _, p := range w.processes {
		if !acting || p.replica.Acts() {
			from = append(from, p)
		}
	}
	if len(from) == 0 {
		return nil
	}
	return rapid.SampledFrom(from).Draw(t, "process")
}

// observe shows a process a roster, mostly the newest one to the owner.
func (w *world) observe(t *rapid.T) {
	version := w.newest().Version
	p := w.of(w.entry().Owner)
	if rapid.IntRange(0, 2).Draw(t, "any process") == 0 {
		p = w.draw(t, false)
	}
	if rapid.IntRange(0, 2).Draw(t, "older") == 0 {
		version = roster.Version(rapid.IntRange(1, int(version)).Draw(t, "version"))
	}
	if p != nil {
		w.show(t, p, version)
	}
}

// promote promotes a backup while answers to the owner are in transit.
func (w *world) promote(t *rapid.T) {
	var answers []letter
	if p := w.of(w.entry().Owner); p != nil && p.replica.Acts() {
		w.writeAs(t, p)
		for _, i := range p.replica.Needed() {
			if u, due := p.replica.Update(i); due {
				answers = append(answers, w.accept(t, letter{from: p, to: w.of(i), update: u}))
			}
		}
	}
	w.take(t)
	if p := w.of(w.entry().Owner); p != nil {
		w.show(t, p, w.newest().Version)
	}
	for _, l := range answers {
		w.hearAnswer(l)
	}
}

// show shows a process a roster, and checks the result against the rules alone.
func (w *world) show(t *rapid.T, p *process, version roster.Version) {
	e := w.entryAt(version)
	before, lines := p.replica.Position(), p.diary.Snapshot()
	took := p.replica.Observe(version, e, roster.Storage{})
	if version <= p.version {
		if took || p.replica.Position() != before {
			t.Fatalf("%s at %d is moved by %d", p.name, p.version, version)
		}
		return
	}
	p.version, p.heard = version, max(p.heard, e.Term)
	due := e.Owner == p.name && e.Term == p.heard && e.Term > p.served
	if took != due {
		t.Fatalf("%s becomes the owner by %+v at %d: %v, want %v", p.name, e, version, took, due)
	}
	keeps := e.Owner == p.name || e.Joining == p.name || slices.Contains(e.InSync, p.name) || version < p.shown
	switch {
	case took:
		w.becomeOwner(t, p, e, before, lines)
	case before != (Position{}) && !keeps:
		w.seen["discarded"]++
		if p.replica.Position() != (Position{}) || len(p.diary.lines) > 0 {
			t.Fatalf("%s keeps %v of %+v", p.name, before, e)
		}
	case p.replica.Position() != before:
		t.Fatalf("%s at %d goes from %v to %v", p.name, version, before, p.replica.Position())
	case before != (Position{}) && version < p.shown && !e.Keeps(p.name):
		w.seen["kept for an owner"]++
	}
	p.mark = p.replica.Position().Number
}

// becomeOwner checks the table of a new owner: it has every change that any owner answered
// since the last loss (I3).
func (w *world) becomeOwner(t *rapid.T, p *process, e roster.Partition, before Position, lines []string) {
	p.served, p.said, p.next = e.Term, map[roster.Incarnation][]saying{}, 0
	if before.Term < e.LostTerm {
		lines = nil
	}
	if got := p.diary.lines; len(got) != len(lines)+1 || !slices.Equal(got[:len(lines)], lines) {
		t.Fatalf("%s became the owner at %v by %+v with %v, had %v", p.name, before, e, got, lines)
	}
	if p.replica.Position() != (Position{Term: e.Term}) {
		t.Fatalf("%s begins term %d at %v", p.name, e.Term, p.replica.Position())
	}
	w.make(t, p, e)
	w.terms = append(w.terms, p.replica.Position())
	if e.LostTerm == e.Term {
		w.seen["losses"]++
	}
	for _, a := range w.answered {
		if w.made[a].lost == e.LostTerm && a.Term < e.Term {
			w.seen["takeovers with answers"]++
			w.mustContain(t, p.replica.Position(), p.diary.lines, a)
		}
	}
}

// make records a table. No two owners make one of the same position.
func (w *world) make(t *rapid.T, p *process, e roster.Partition) {
	at := p.replica.Position()
	if other, found := w.made[at]; found {
		t.Fatalf("%s makes %v, which %s made", p.name, at, other.by)
	}
	w.made[at] = table{by: p.name, lost: e.LostTerm, lines: p.diary.Snapshot()}
}

// mustContain checks that a table contains a change, and all changes before it.
func (w *world) mustContain(t *rapid.T, at Position, lines []string, answered Position) {
	if want := w.made[answered].lines; len(lines) < len(want) || !slices.Equal(lines[:len(want)], want) {
		t.Fatalf("%v was answered with\n%v, and %v is\n%v", answered, want, at, lines)
	}
}

func (w *world) write(t *rapid.T) {
	if p := w.draw(t, true); p != nil {
		w.writeAs(t, p)
	}
}

func (w *world) writeAs(t *rapid.T, p *process) {
	before := p.replica.Position()
	lines := rapid.SliceOfN(rapid.StringMatching(`[a-z]{3}`), 1, 2).Draw(t, "lines")
	if after := p.write(lines...); after != (Position{before.Term, before.Number + 1}) {
		t.Fatalf("%v after %v", after, before)
	}
	w.make(t, p, w.entryAt(p.version))
}

func (w *world) hear(t *rapid.T) {
	if p := w.draw(t, false); p != nil {
		p.hear(rapid.SampledFrom(w.rosters[2:]).Draw(t, "roster").Partitions[0].Term)
	}
}

func (p *process) hear(term roster.Term) {
	p.replica.Heard(term)
	p.heard = max(p.heard, term)
}

// admitted has an owner report the replica that may be admitted, or the leader admit a
// reported one.
func (w *world) admitted(t *rapid.T) {
	if p := w.draw(t, true); p != nil {
		if h, ready := p.replica.Admission(); ready {
			w.held = append(w.held, h)
		}
	}
	if rapid.Bool().Draw(t, "admit") && w.admit(t) {
		w.seen["admitted"]++
	}
}

// check compares a process with the rules, and sends the replies that are allowed.
func (w *world) check(t *rapid.T, p *process) {
	e := w.entryAt(p.version)
	acts := p.served > 0 && e.Owner == p.name && p.served == e.Term && p.heard == e.Term
	if p.replica.Acts() != acts || p.replica.Newest() != p.heard {
		t.Fatalf("%s acts: %v, want %v, with term %d heard of, by %+v", p.name, !acts, acts, p.heard, e)
	}
	held := p.replica.Position()
	if lines := p.diary.lines; held == (Position{}) && len(lines) > 0 || held != (Position{}) &&
		!slices.Equal(lines, w.made[held].lines) {
		t.Fatalf("%s at %v has\n%v, made was\n%v", p.name, held, lines, w.made[held].lines)
	}
	for _, number := range []uint64{0, p.next, held.Number / 2, held.Number} {
		if got, want := p.replica.AllAcknowledged(number), acts && w.isHeld(p, e, number); got != want {
			t.Fatalf("%s: all have acknowledged %d: %v, want %v, by %+v, acknowledged %v", p.name, number, got, want, e, p.said)
		}
	}
	_, ready := p.replica.Admission()
	due := acts && slices.ContainsFunc(p.said[e.Joining], func(s saying) bool {
		return s.version == p.version &&
			s.number >= p.mark
	})
	if ready != due {
		t.Fatalf("%s at %d with mark %d admits: %v, want %v, by %+v, acknowledged %v", p.name, p.version, p.mark, ready,
			due, e, p.said)
	}
	for ; acts && p.next <= held.Number && p.replica.AllAcknowledged(p.next); p.next++ {
		w.answer(t, Position{held.Term, p.next})
	}
}
