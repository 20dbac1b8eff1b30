package record

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// Of the world with servers that lose writes. The rule rests on time, so it has a real
// time, clocks that are skew fast at most, and servers that acknowledge for lag ticks after
// they were replaced.
const (
	lossyWindow clustertime.Span = 4
	lossySkew   clustertime.Span = 2
	lossyLag    clustertime.Span = 2
)

// lossy is one record at servers that replace each other.
type lossy struct {
	now     clustertime.Tick
	servers []server // the last one is the newest
	writes  int
	nonces  int
	holders []*lossyHolder
}

type server struct {
	name     string
	state    versioned // revision "" if the record is missing
	history  []versioned
	replaced clustertime.Tick // 0 = it is the newest
}

type lossyHolder struct {
	id      attachment.ID
	machine *Holding
	stopped bool
	used    clustertime.Tick
}

func (l *lossy) nonce() string { l.nonces++; return fmt.Sprint("n", l.nonces) }

func (s *server) write(r Record, revision string) {
	s.state = versioned{r, revision}
	s.history = append(s.history, s.state)
}

// alive reports whether a server still acknowledges writes.
func (l *lossy) alive(s *server) bool {
	return s.replaced == 0 || l.now.Sub(s.replaced) <= lossyLag
}

func (l *lossy) bounds(t *dice, s *server) Bounds {
	return Bounds{
		Now: l.now + clustertime.Tick(t.between(0, int(lossySkew))), Window: lossyWindow, Life: NewLife(1, [8]byte{}),
		Generation: s.name, Quarantine: lossyWindow + lossySkew + lossyLag,
	}
}

func (l *lossy) pick(t *dice) *server {
	return &l.servers[t.between(max(0, len(l.servers)-2), len(l.servers)-1)]
}

func (l *lossy) pickHolder(t *dice) *lossyHolder {
	if len(l.holders) == 0 {
		return nil
	}
	return newest(t, l.holders, 3)
}

func (l *lossy) pass(t *dice) {
	l.now += clustertime.Tick(t.between(0, 3))
}

// fail has another server take over, with an earlier state of the record or none.
func (l *lossy) fail(t *dice) {
	if t.between(0, 5) > 0 {
		return
	}
	last := &l.servers[len(l.servers)-1]
	last.replaced = l.now
	next := server{name: fmt.Sprint("s", len(l.servers)+1)}
	if n := len(last.history); n > 0 {
		if i := t.between(max(0, n-4), n); i < n {
			next.write(last.history[i].record, last.history[i].revision)
		}
	}
	l.servers = append(l.servers, next)
}

// create makes a missing record.
func (l *lossy) create(t *dice) {
	if s := l.pick(t); s.state.revision == "" && l.alive(s) {
		l.writes++
		s.write(Born(NewLife(1, [8]byte{}), l.nonce()), fmt.Sprint("r", l.writes))
	}
}

// take begins to take the record that a server has.
func (l *lossy) take(t *dice) {
	s := l.pick(t)
	if s.state.revision == "" {
		return
	}
	id := attachment.ID{byte(len(l.holders) + 1), byte(len(l.holders) >> 8), 1}
	m, err := NewHolding(id, Candidate{Record: s.state.record}, s.state.revision, "task", l.nonce(), l.bounds(t, s))
	if err == nil {
		l.holders = append(l.holders, &lossyHolder{id: id, machine: m})
	}
}

// send has a server carry out a holder's request immediately; the answer may be lost. The
// swap of a grant is on the condition of the generation that it was computed for (Q3).
func (l *lossy) send(t *dice) {
	h, s := l.pickHolder(t), l.pick(t)
	if h == nil || !l.alive(s) {
		return
	}
	switch request, want, revision := h.machine.Want(); request {
	case Load:
		seen := Seen{Record: s.state.record, Revision: s.state.revision}
		if seen.Revision == "" {
			seen.Err = ErrDamaged
		}
		h.machine.Read(seen, l.nonce())
	case Swap:
		h.machine.Sent()
		answer := Refused
		if s.state.revision == revision && (want.State != Held || want.Generation == s.name) {
			l.writes++
			s.write(want, fmt.Sprint("r", l.writes))
			answer = Landed
		}
		if t.between(0, 2) == 2 {
			answer = Unknown
		}
		h.machine.Swapped(want.Nonce, answer, s.state.revision, l.nonce())
	}
}

func (l *lossy) extend(t *dice) {
	if h := l.pickHolder(t); h != nil {
		_ = h.machine.Extend(nil, l.nonce(), l.bounds(t, l.pick(t)))
	}
}

func (l *lossy) stop(t *dice) {
	h := l.pickHolder(t)
	if h == nil || h.stopped {
		return
	}
	g, _ := h.machine.Grant()
	h.stopped, h.used = true, g.From
	rel := attachment.Release{ID: h.id}
	if !g.Empty() {
		rel.LastUsed = g.From + clustertime.Tick(t.between(0, int(g.Until-g.From)-1))
		h.used = rel.LastUsed + 1
	}
	h.machine.Stop(rel, l.nonce())
}

// TestNoTickIsGrantedTwiceByServersThatLoseWrites: with clocks within the skew, and servers
// that acknowledge for no longer than the lag once they are replaced, lost writes lead to
// waits and not to common ticks.
func TestNoTickIsGrantedTwiceByServersThatLoseWrites(t *testing.T) {
	used := 0
	rapid.Check(t, func(rt *rapid.T) {
		t := roll(rt)
		l := &lossy{now: 1_790_000_000_000, servers: []server{{name: "s1"}}}
		steps := []func(*dice){l.pass, l.pass, l.pass, l.create, l.take, l.take, l.send, l.send, l.send, l.send, l.extend,
			l.extend, l.stop, l.fail}
		for range t.between(400, 900) {
			steps[t.between(0, len(steps)-1)](t)
			l.check(t)
		}
		used += len(l.rights())
	})
	if used < 100 {
		t.Fatalf("only %d grants in all runs", used)
	}
}

func (l *lossy) rights() (all []attachment.Grant) {
	for _, h := range l.holders {
		g, _ := h.machine.Grant()
		if h.stopped {
			g.Until = min(g.Until, h.used)
		}
		if !g.Empty() {
			all = append(all, g)
		}
	}
	return all
}

func (l *lossy) check(t *dice) {
	all := l.rights()
	slices.SortFunc(all, func(a, b attachment.Grant) int { return int(a.From - b.From) })
	for i := range all[:max(len(all)-1, 0)] {
		if all[i].Until > all[i+1].From {
			t.Fatalf("granted %v and %v", all[i], all[i+1])
		}
	}
}
