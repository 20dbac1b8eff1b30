package explore

import (
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// anchorEmit receives a state one step away, and the step's text.
type anchorEmit func(next *anchorWorld, format string, args ...any)

// anchorLab runs a scope.
type anchorLab struct {
	scope AnchorScope
	weak  AnchorWeakness
	emit  anchorEmit
}

// start returns the first grid, running, before the record exists.
func (l *anchorLab) start() *anchorWorld {
	w := &anchorWorld{}
	w.begin(l.scope, 0, anchorRoster{})
	if l.scope.Earlier {
		w.Rights[0], w.Begun = 3, 1
		w.Grids[0].Roster.Ceiling = 2
	}
	return w
}

// begin starts a grid from a roster's data. None of its processes is a member.
func (w *anchorWorld) begin(s AnchorScope, grid int, data anchorRoster) {
	data.Owned = false
	g := anchorGrid{State: anchorRuns, Roster: data}
	for p := range s.Leaders {
		g.Leaders[p].Knows = true
	}
	w.Grids[grid] = g
}

// steps emits every state one step away.
func (l *anchorLab) steps(w *anchorWorld) {
	l.starts(w)
	if l.weak == RecordDeleted && w.Exists {
		n := *w
		n.Exists, n.Claim, n.Ceiling = false, 0, 0
		l.overtake(&n)
		l.emit(&n, "the record is deleted")
	}
	for grid := range l.scope.Grids {
		for p := range l.scope.Leaders {
			l.lands(w, grid, p)
			l.answers(w, grid, p)
			switch w.Grids[grid].State {
			case anchorRuns:
				l.reads(w, grid, p)
				l.extends(w, grid, p)
				l.takes(w, grid, p)
				l.commands(w, grid, p)
			case anchorStopped:
				l.lowers(w, grid, p)
				l.raises(w, grid, p) // the roster refuses it after the stop
			}
		}
	}
}

// starts emits the start of the next grid: empty, or from another grid's data.
func (l *anchorLab) starts(w *anchorWorld) {
	next := 1
	for next < l.scope.Grids && w.Grids[next].State != anchorIdle {
		next++
	}
	if next >= l.scope.Grids {
		return
	}
	begin := func(data anchorRoster, how string) {
		n := *w
		n.begin(l.scope, next, data)
		l.emit(&n, "grid %d is started %s", next, how)
	}
	if !l.scope.Earlier || w.Exists { // else the first generation under the anchor has the existing data
		begin(anchorRoster{}, "empty")
	}
	for of := range next {
		if r := w.Grids[of].Roster; r.Ceiling > 0 || r.Claim > 0 {
			begin(r, "from a copy of the newest data")
		}
	}
	if w.Copied {
		begin(w.Copy, "from the old copy")
	}
	for of := range next {
		if g := w.Grids[of]; l.scope.Copies && !w.Copied && g.State == anchorRuns &&
			(g.Roster.Ceiling > 0 || g.Roster.Claim > 0) {
			n := *w
			n.Copied, n.Copy = true, g.Roster
			l.emit(&n, "the data of grid %d are copied", of)
		}
	}
}

// lands applies each swap in transit.
func (l *anchorLab) lands(w *anchorWorld, grid, p int) {
	for at, s := range w.Grids[grid].Leaders[p].Swaps {
		if s.State != anchorFlies && s.State != anchorStale {
			continue
		}
		n := *w
		put := &n.Grids[grid].Leaders[p].Swaps[at]
		*put = anchorSwap{}
		n.Exists, n.Claim, n.Ceiling = true, s.Claim, s.Ceiling
		l.overtake(&n)
		if at == 0 {
			*put = s
			put.State = anchorLanded
		}
		l.emit(&n, "the swap of grid %d leader %d lands: claim %d, ceiling %d", grid, p, s.Claim, s.Ceiling)
	}
}

// overtake makes the swaps in transit find another revision.
func (l *anchorLab) overtake(w *anchorWorld) {
	for grid := range w.Grids {
		for p := range w.Grids[grid].Leaders {
			for at := range w.Grids[grid].Leaders[p].Swaps {
				s := &w.Grids[grid].Leaders[p].Swaps[at]
				if s.State == anchorFlies && l.weak == Unconditional {
					s.State = anchorStale
				} else if s.State == anchorFlies {
					*s = anchorSwap{}
				}
			}
		}
	}
}

// answers emits the reply to an applied swap.
func (l *anchorLab) answers(w *anchorWorld, grid, p int) {
	s := w.Grids[grid].Leaders[p].Swaps[0]
	if s.State != anchorLanded {
		return
	}
	n := *w
	n.Grids[grid].Leaders[p].Swaps[0] = anchorSwap{}
	n.act(grid, p, func(r *roster.Roster, a *anchor.Authority) {
		a.Landed(r, anchor.Swap{Kind: s.Kind, Record: anchor.Record{Claim: anchorClaims[s.Claim],
			Ceiling: anchorTime(s.Ceiling)}})
	})
	l.emit(&n, "grid %d leader %d is answered: claim %d, ceiling %d", grid, p, s.Claim, s.Ceiling)
}

// act runs a function on a leader's real authority.
func (w *anchorWorld) act(grid, p int, do func(r *roster.Roster, a *anchor.Authority)) {
	leader := &w.Grids[grid].Leaders[p]
	a := leader.authority(anchorProcess(grid, p))
	do(w.Grids[grid].roster(grid), &a)
	leader.keep(a)
}

// reads emits a read, and the leader's update to the newest roster.
func (l *anchorLab) reads(w *anchorWorld, grid, p int) {
	if w.Exists {
		n := *w
		n.act(grid, p, func(r *roster.Roster, a *anchor.Authority) { a.Saw(r, w.seen().Record) })
		if n != *w {
			l.emit(&n, "grid %d leader %d reads: claim %d, ceiling %d", grid, p, w.Claim, w.Ceiling)
		}
	}
	if !w.Grids[grid].Leaders[p].Knows {
		n := *w
		n.Grids[grid].Leaders[p].Knows = true
		l.emit(&n, "grid %d leader %d learns the newest roster", grid, p)
	}
}

// send sends a leader's swap, in one step with the read for it: a swap that finds another revision
// has no effect.
func (l *anchorLab) send(w *anchorWorld, grid, p int,
	make func(r *roster.Roster, a *anchor.Authority) (anchor.Swap, error)) {
	leader := w.Grids[grid].Leaders[p]
	if leader.Swaps[0].State != 0 && leader.Swaps[1].State != 0 {
		return
	}
	n := *w
	var s anchor.Swap
	var err error
	n.act(grid, p, func(r *roster.Roster, a *anchor.Authority) { s, err = make(r, a) })
	if err != nil {
		return
	}
	m := &n.Grids[grid].Leaders[p]
	if first := m.Swaps[0].State; first == anchorFlies || first == anchorStale {
		m.Swaps[1] = m.Swaps[0]
	}
	m.Swaps[0] = anchorSwap{State: anchorFlies, Kind: s.Kind, Claim: claimNumber(s.Record.Claim),
		Ceiling: tickOf(s.Record.Ceiling)}
	if s.Kind == anchor.Take {
		n.Claims++
	}
	l.emit(&n, "grid %d leader %d sends a swap (%d): claim %d, ceiling %d", grid, p, s.Kind, m.Swaps[0].Claim,
		m.Swaps[0].Ceiling)
}

// extends emits every extension.
func (l *anchorLab) extends(w *anchorWorld, grid, p int) {
	if !w.Exists || !w.Grids[grid].Leaders[p].Knows {
		return
	}
	for to := w.Ceiling + 1; to <= min(w.Ceiling+2, uint8(l.scope.Ticks)); to++ {
		l.send(w, grid, p, func(r *roster.Roster, a *anchor.Authority) (anchor.Swap, error) {
			return a.Extend(r, w.seen(), anchorTime(to), anchor.Draw{})
		})
	}
	l.lowers(w, grid, p) // the authority refuses it before the stop
}

// takes emits every take. The written limit may be higher than necessary.
func (l *anchorLab) takes(w *anchorWorld, grid, p int) {
	if !w.Grids[grid].Leaders[p].Knows || int(w.Claims) >= l.scope.Takes {
		return
	}
	seen := w.seen()
	var draws []uint8
	if draws = []uint8{w.Top + 1}; l.weak == ClaimDrawnAgain {
		for of := range w.Grids {
			if c := w.Grids[of].Roster.Claim; c > 0 && c != w.Grids[grid].Roster.Claim {
				draws = append(draws, c)
			}
		}
	}
	found := []anchor.Seen{seen}
	if l.weak == EarlierRead && w.Ceiling > 0 {
		earlier := seen
		earlier.Record.Ceiling--
		found = append(found, earlier)
	}
	for _, draw := range draws {
		for _, seen := range found {
			l.send(w, grid, p, func(r *roster.Roster, a *anchor.Authority) (anchor.Swap, error) {
				s, err := a.Take(r, seen, anchor.Draw{Claim: anchorClaims[draw]})
				s.Record.Ceiling = max(s.Record.Ceiling, anchorTick)
				if l.weak == EarlierRead {
					s.Record.Ceiling = max(s.Record.Ceiling, w.seen().Record.Ceiling)
				}
				return s, err
			})
		}
	}
}

// lowers emits the end of grants, written by the last member.
func (l *anchorLab) lowers(w *anchorWorld, grid, p int) {
	g := w.Grids[grid]
	to := g.Roster.Ceiling
	if g.State == anchorStopped {
		if to = g.Roster.Stop - 1; !g.Leaders[p].Stopper {
			return
		}
	}
	if !w.Exists || to >= w.Ceiling {
		return
	}
	l.send(w, grid, p, func(r *roster.Roster, a *anchor.Authority) (anchor.Swap, error) {
		return a.Lower(r, w.seen(), anchorTime(to), anchor.Draw{})
	})
}

// commands emits every command that the grid's roster accepts from a leader.
func (l *anchorLab) commands(w *anchorWorld, grid, p int) {
	g := w.Grids[grid]
	if !g.Leaders[p].Knows {
		return
	}
	r := g.roster(grid)
	a := g.Leaders[p].authority(anchorProcess(grid, p))
	self := roster.Member{Incarnation: anchorProcess(grid, p)}
	if c, due := a.Reset(r, self); due {
		l.agree(w, grid, p, c, "resets")
	}
	if !a.Registered(r) {
		return
	}
	l.raises(w, grid, p)
	change := func(c roster.Change, what string) {
		l.agree(w, grid, p, roster.Command{From: r.Version, Claim: r.Claim, Change: &c}, what)
	}
	if !g.Roster.Owned {
		change(roster.Change{Lose: []roster.Loss{{Owner: self.Incarnation}}}, "gives the partition an owner")
	}
	for q := range l.scope.Leaders {
		if g.Members>>q&1 == 0 {
			change(roster.Change{Join: []roster.Member{{Incarnation: anchorProcess(grid, q)}}}, "registers the other leader")
		}
	}
	if l.scope.Stops && len(r.Members) == 1 {
		for at := g.Roster.Floor; at <= g.Roster.Ceiling; at++ {
			change(roster.Change{Stop: max(1, anchorTime(at))}, "stops in order")
		}
	}
}

// raises emits every raise.
func (l *anchorLab) raises(w *anchorWorld, grid, p int) {
	g := w.Grids[grid]
	r := g.roster(grid)
	a := g.Leaders[p].authority(anchorProcess(grid, p))
	limit := a.Limit(r)
	for to := g.Roster.Ceiling + 1; g.Leaders[p].Knows && to <= tickOf(limit); to++ {
		raise := roster.Raise{Time: anchorTime(to).Add(-r.Settings.Window), Limit: limit}
		l.agree(w, grid, p, roster.Command{From: r.Version, Claim: r.Claim, Raise: &raise}, "raises")
	}
}

// agree emits a committed command, if the real roster accepts it.
func (l *anchorLab) agree(w *anchorWorld, grid, p int, c roster.Command, what string) {
	before := w.Grids[grid].roster(grid)
	next, err := before.Apply(c)
	if err != nil {
		return
	}
	n := *w
	if next.Stopped > 0 && before.Stopped == 0 {
		n.stop(grid, p, tickOf(next.Stopped), l.weak == StopsWithAttachments)
	}
	n.follow(grid, next)
	if next.Version > before.Version {
		for q := range n.Grids[grid].Leaders {
			leader := &n.Grids[grid].Leaders[q]
			leader.Knows = leader.Knows && q == p
			leader.Taken.Current = false
		}
	}
	g := n.Grids[grid].Roster
	l.emit(&n, "grid %d leader %d %s: claim %d, floor %d, ceiling %d", grid, p, what, g.Claim, g.Floor, g.Ceiling)
}

// stop ends a grid: nothing was granted from a tick on, unless an attachment is left.
func (w *anchorWorld) stop(grid, p int, at uint8, live bool) {
	g := &w.Grids[grid]
	if !live && g.Segment > 0 {
		w.Rights[g.Segment-1] &= uint8(1)<<at - 1
	}
	g.State, g.Leaders[p].Stopper = anchorStopped, true
}
