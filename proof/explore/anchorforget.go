package explore

import "bytes"

// forget removes from a state everything that no leader can use any longer, and renumbers claims in
// order of occurrence, so that states with the same behaviour are equal.
func (w *anchorWorld) forget(s AnchorScope) {
	for grid := range w.Grids {
		g := &w.Grids[grid]
		if g.State == anchorIdle {
			continue
		}
		for p := range g.Leaders {
			leader := &g.Leaders[p]
			if g.State == anchorStopped && !leader.Stopper {
				leader.Knows, leader.Claim, leader.Ceiling, leader.Taken = false, 0, 0, anchorTaken{}
			}
			if !s.Keep {
				leader.forget(w, g)
			}
			if leader.Swaps[0].State == 0 && leader.Swaps[1].State != 0 {
				leader.Swaps[0], leader.Swaps[1] = leader.Swaps[1], anchorSwap{}
			}
		}
		if s.Leaders == 2 && g.State == anchorRuns { // they are interchangeable
			a, b := g.Leaders[0].append(nil), g.Leaders[1].append(nil)
			a, b = append(a, g.Members&1), append(b, g.Members>>1)
			if bytes.Compare(a, b) < 0 {
				g.Leaders[0], g.Leaders[1] = g.Leaders[1], g.Leaders[0]
				g.Members = g.Members>>1&1 | g.Members&1<<1
			}
		}
	}
	w.number()
}

// forget removes from a leader everything that it cannot use.
func (l *anchorLeader) forget(w *anchorWorld, g *anchorGrid) {
	s := &l.Swaps[0]
	useless := s.Kind == 3 || s.Kind == 2 && (s.Claim != g.Roster.Claim || s.Ceiling <= g.Roster.Ceiling) ||
		s.Kind == 1 && (s.Claim != l.Taken.Claim || !l.Taken.Current)
	if s.State == anchorLanded && useless {
		*s = anchorSwap{}
	}
	alive := l.Taken.Known || w.Claim == l.Taken.Claim
	for _, s := range l.Swaps {
		alive = alive || s.State != 0 && s.Kind == 1 && s.Claim == l.Taken.Claim
	}
	if l.Taken.Known && l.Taken.Claim == g.Roster.Claim && l.Claim != g.Roster.Claim {
		l.Claim, l.Ceiling = l.Taken.Claim, l.Taken.Ceiling // it has the same meaning
	}
	if !l.Taken.Current || !alive {
		l.Taken = anchorTaken{}
	}
	if l.Claim != g.Roster.Claim || l.Ceiling <= g.Roster.Ceiling || g.State == anchorStopped {
		l.Claim, l.Ceiling = 0, 0
	}
}

// number renumbers the claims.
func (w *anchorWorld) number() {
	var to [len(anchorClaims)]uint8
	w.Top = 0
	number := func(c *uint8) {
		if *c == 0 {
			return
		}
		if to[*c] == 0 {
			w.Top++
			to[*c] = w.Top
		}
		*c = to[*c]
	}
	number(&w.Claim)
	number(&w.Copy.Claim)
	for grid := range w.Grids {
		g := &w.Grids[grid]
		number(&g.Roster.Claim)
		for p := range g.Leaders {
			l := &g.Leaders[p]
			number(&l.Claim)
			number(&l.Taken.Claim)
			number(&l.Swaps[0].Claim)
			number(&l.Swaps[1].Claim)
		}
	}
}

func flagBit(set bool, at int) byte {
	if set {
		return 1 << at
	}
	return 0
}

func (l anchorLeader) append(b []byte) []byte {
	b = append(b, flagBit(l.Knows, 0)|flagBit(l.Stopper, 1)|flagBit(l.Taken.Known, 2)|flagBit(l.Taken.Current, 3), l.Claim,
		l.Ceiling, l.Taken.Claim, l.Taken.Found, l.Taken.Ceiling)
	for _, s := range l.Swaps {
		b = append(b, s.State, byte(s.Kind), s.Claim, s.Ceiling)
	}
	return b
}

func (r anchorRoster) append(b []byte) []byte {
	return append(b, r.Ceiling, r.Floor, r.Claim, r.Stop, flagBit(r.Owned, 0))
}

// append encodes a state.
func (w *anchorWorld) append(b []byte) []byte {
	b = append(b, flagBit(w.Exists, 0)|flagBit(w.Copied, 1), w.Claim, w.Ceiling, w.Claims, w.Begun)
	b = append(b, w.Rights[:]...)
	b = w.Copy.append(b)
	for _, g := range w.Grids {
		b = g.Roster.append(append(b, g.State, g.Segment, g.Members))
		for _, l := range g.Leaders {
			b = l.append(b)
		}
	}
	return b
}
