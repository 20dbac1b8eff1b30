package gossip

import (
	"cmp"
	"maps"
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Peers returns all live members, this one too, by incarnation. It is one slice for all
// callers until a member changes, so none of them may change it.
func (g *Gossip) Peers() []Peer {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.peers == nil {
		byIncarnation := func(a, b Peer) int { return cmp.Compare(a.Incarnation, b.Incarnation) }
		g.peers = slices.Clip(slices.SortedFunc(maps.Values(g.alive), byIncarnation))
	}
	return g.peers
}

// setAlive records a live member and its encoded state. The caller holds g.mu.
func (g *Gossip) setAlive(p Peer, said string) {
	g.alive[p.Incarnation], g.said[p.Incarnation] = p, said
	g.peers = nil
}

// setGone records that a member is not alive, or not of this grid. The caller holds g.mu.
func (g *Gossip) setGone(inc roster.Incarnation) {
	if _, alive := g.alive[inc]; alive {
		delete(g.said, inc)
		delete(g.alive, inc)
		g.peers = nil
	}
	delete(g.failing, inc)
	delete(g.noUDP, inc)
}

// Find returns a live member for which want is true.
func (g *Gossip) Find(want func(Peer) bool) (Peer, bool) {
	for _, p := range g.Peers() {
		if want(p) {
			return p, true
		}
	}
	return Peer{}, false
}
