package grid

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/roster"
)

// Two grids of one name may meet by gossip. Each refuses the members of the other,
// and says so. What memberlist calls here runs under its lock and only takes notes.

const (
	// staleNews is how long after a peer's last word an older one of it may
	// still arrive.
	staleNews = 10 * time.Second
	// strangerTold is how long members of another grid are met before anybody
	// is told: one that is just leaving that grid is none.
	strangerTold = 2 * time.Second
	// strangerLives is how long a stranger is remembered that is not met again.
	strangerLives = time.Minute
)

// stranger is a member of another grid of the same name.
type stranger struct {
	Grid roster.GridID
	Addr string // of its gossip
}

// sighting is when a stranger was met.
type sighting struct {
	first, last time.Time
	told        bool // the log tells of it
}

var errStranger = errors.New("grid: it is a member of another grid of the same name")

// NotifyAlive implements memberlist.AliveDelegate. It is asked about each word of
// each node, whoever passes it on, this member's own too.
func (g *gossip) NotifyAlive(n *memberlist.Node) error {
	p, err := readPeer(n)
	if err != nil {
		return nil // note leaves it out
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.strange(p) {
		return nil
	}
	if known := g.alive[p.Incarnation]; time.Since(known.noted) >= staleNews {
		g.sight(p)
	}
	return errStranger
}

// NotifyMerge implements memberlist.MergeDelegate: a member that joins, or is
// joined, is refused if it knows members of other grids and none of this one.
func (g *gossip) NotifyMerge(nodes []*memberlist.Node) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	refused, known := false, false
	for _, n := range nodes {
		p, err := readPeer(n)
		switch {
		case err != nil || n.State == memberlist.StateDead || n.State == memberlist.StateLeft:
		case p.Grid == g.own:
			known = true
		case g.strange(p):
			refused = true
			if _, alive := g.alive[p.Incarnation]; !alive {
				g.sight(p)
			}
		}
	}
	if refused && !known {
		return errStranger
	}
	return nil
}

// strange reports whether a peer is of another grid than this member. The caller
// holds g.mu.
func (g *gossip) strange(p peer) bool {
	return !g.own.IsZero() && !p.Grid.IsZero() && p.Grid != g.own && p.Incarnation != g.m.self
}

// sight notes that a stranger was met. The caller holds g.mu.
func (g *gossip) sight(p peer) {
	delete(g.alive, p.Incarnation)
	key := stranger{p.Grid, p.Gossip}
	now := time.Now()
	if g.strangers[key] == nil {
		g.strangers[key] = &sighting{first: now}
	}
	g.strangers[key].last = now
}

// belongs tells gossip which grid this member belongs to, zero for none. Peers of
// another one that were seen before are peers no more.
func (g *gossip) belongs(own roster.GridID) {
	if g == nil {
		return
	}
	g.mu.Lock()
	g.own = own
	clear(g.strangers)
	for _, p := range g.alive {
		if g.strange(p) {
			g.sight(p)
		}
	}
	g.mu.Unlock()
	g.m.state.Notify()
}

// grids returns the grids that peers belong to, and one address in each.
func (g *gossip) grids() map[roster.GridID]string {
	out := map[roster.GridID]string{}
	for _, p := range g.peers() {
		if !p.Grid.IsZero() {
			out[p.Grid] = p.Gossip
		}
	}
	return out
}

// tellStrangers logs each stranger once, and forgets those not met any more.
func (g *gossip) tellStrangers() {
	own, tell := g.newStrangers(time.Now())
	for _, s := range tell {
		g.m.log.Error("two grids have the same name and have met; their members refuse each other: "+strangerAdvice,
			"grid", own.String(), "other_grid", s.Grid.String(), "other_addr", s.Addr)
	}
}

// newStrangers returns the strangers to tell of, and this member's grid.
func (g *gossip) newStrangers(now time.Time) (own roster.GridID, tell []stranger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, s := range g.strangers {
		switch {
		case now.Sub(s.last) > strangerLives:
			delete(g.strangers, key)
		case !s.told && s.last.Sub(s.first) >= strangerTold:
			s.told = true
			tell = append(tell, key)
		}
	}
	return g.own, tell
}

const strangerAdvice = "stop one of them, or give it another Name"

// toldStrangers returns the strangers that the log tells of, for people.
func (g *gossip) toldStrangers() []string {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []string
	for key, s := range g.strangers {
		if s.told {
			out = append(out, fmt.Sprintf("grid %s at %s", key.Grid, key.Addr))
		}
	}
	slices.Sort(out)
	return out
}
