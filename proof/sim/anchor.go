package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// anchorStore is the store for a grid's anchor: one record, changed by compare-and-swap. Requests
// and replies are lost or late, and the store is unreachable at times. A rival, such as a grid
// started from a copy of this grid's data, takes the record at times and extends it.
type anchorStore struct {
	record anchor.Record
	writes int // the revision; 0 means without a record
	away   time.Duration
	rival  time.Duration // end of the time in which a rival extends the record

	limits map[roster.Claim]clustertime.Tick // the highest limit written under each claim
	found  map[roster.Claim]clustertime.Tick // the limit that each take replaced
}

func newAnchorStore() *anchorStore {
	return &anchorStore{limits: map[roster.Claim]clustertime.Tick{}, found: map[roster.Claim]clustertime.Tick{}}
}

// anchorAhead is the distance between cluster time and the limit that these grids maintain.
const anchorAhead = 20 * time.Second

var errAnchorAway = errors.New("sim: the anchor does not answer")

// draw returns random values for a swap.
func (w *world) draw() anchor.Draw {
	claim, nonce := w.bits(), w.bits()
	return anchor.Draw{Claim: roster.Claim(fmt.Sprintf("%x", claim)), Nonce: fmt.Sprintf("%x", nonce)}
}

// revision returns the record's revision.
func (s *anchorStore) revision() string {
	if s.writes == 0 {
		return ""
	}
	return strconv.Itoa(s.writes)
}

// write replaces the record.
func (s *anchorStore) write(r anchor.Record) {
	if r.Claim != s.record.Claim {
		s.found[r.Claim] = s.record.Ceiling
	}
	s.record = r
	s.limits[r.Claim] = max(s.limits[r.Claim], r.Ceiling)
	s.writes++
}

// do executes a step.
func (s *anchorStore) do(step anchor.Step) anchor.Outcome {
	if step.Read {
		return anchor.Outcome{Seen: anchor.Seen{Record: s.record, Revision: s.revision()}}
	}
	if step.Swap.Revision != s.revision() {
		return anchor.Outcome{Err: anchor.ErrRefused}
	}
	s.write(step.Swap.Record)
	return anchor.Outcome{Seen: anchor.Seen{Revision: s.revision()}}
}

// Anchor implements leader.Member.
func (l *lead) Anchor(step anchor.Step) {
	m, g := l.m, l.m.g
	w := g.w
	done := func(out anchor.Outcome) {
		l.do(func(machine *leader.Leader, v leader.View) { machine.Anchored(v, step, out) })
	}
	answered := false
	answer := func(out anchor.Outcome) {
		m.do(func() {
			if !answered {
				answered = true
				done(out)
			}
		})
	}
	m.after(anchor.Timeout, func() { answer(anchor.Outcome{Err: errAnchorAway}) })
	late := w.between(time.Millisecond, 40*time.Millisecond)
	if !g.calm && w.chance(0.03) {
		late = w.between(0, 20*time.Second) // long after the caller's timeout
	}
	if !g.calm && (w.chance(0.03) || g.anchor.away > w.now) {
		return // the request is lost
	}
	w.after(late, func() {
		out := g.anchor.do(step)
		if g.calm || !w.chance(0.05) {
			w.after(w.between(time.Millisecond, 40*time.Millisecond), func() { answer(out) })
		}
	})
}

// rivalTakes lets a rival take the record, and extend it for a while.
func (nm *nemesis) rivalTakes() bool {
	s := nm.g.anchor
	if s == nil || s.writes == 0 || s.rival > nm.g.w.now {
		return false
	}
	claim := nm.g.w.draw().Claim
	s.rival = nm.g.w.now + nm.g.w.between(0, 40*time.Second)
	write := func(more clustertime.Span) {
		s.write(anchor.Record{Claim: claim, Ceiling: s.record.Ceiling.Add(more), Holder: "rival", Nonce: nm.g.w.draw().Nonce})
	}
	write(0)
	var extend func()
	extend = func() {
		if nm.g.w.now < s.rival && !nm.g.calm && s.record.Claim == claim {
			write(clustertime.Span(nm.g.w.rng.IntN(5000)))
			nm.g.w.after(2*time.Second, extend)
		}
	}
	nm.g.w.after(time.Second, extend)
	return true
}

// restartStragglers restarts, as an operator would, members left behind under an earlier claim. The
// grid has removed them, and readmits only processes without state. If a leaving member was removed
// earlier, nothing confirms its leave, which ends with its context.
func (g *grid) restartStragglers() {
	if g.anchor == nil {
		return
	}
	r := g.agreed.newest()
	for _, m := range g.running() {
		_, registered := m.roster.Member(m.inc)
		if (registered || m.leaving) && m.roster.Claim != r.Claim && !g.agreed.serves(m) {
			g.crash(m)
			g.restart(m.seat)
		}
	}
}

// serves reports whether a member has a server.
func (a *agreement) serves(m *member) bool {
	return slices.ContainsFunc(a.servers, func(s server) bool { return s.ID == serverOf(m, false).ID })
}

// checkAnchor requires that a raise stays within the limits written under the roster's claim, and
// that a reset begins above every limit written before its take.
func (g *grid) checkAnchor(before, next *roster.Roster, c roster.Command) error {
	if g.anchor == nil {
		return nil
	}
	if c.Reset != nil {
		found, known := g.anchor.found[c.Reset.Claim]
		if floor := next.Partitions[0].Floor; !known || floor < found {
			return fmt.Errorf("a life begins at %d under claim %s, which replaced a limit of %d (taken: %v)", floor,
				c.Reset.Claim, found, known)
		}
		return nil
	}
	if limit := g.anchor.limits[next.Claim]; next.Ceiling > max(before.Ceiling, limit) {
		return fmt.Errorf("the ceiling rose to %d, and the anchor has never said more than %d under claim %s", next.Ceiling,
			limit, next.Claim)
	}
	return nil
}
