package gossip

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Two grids with one name may meet by gossip. Each rejects the other's members, and
// logs it. The methods that memberlist calls run under its lock and only record.

const (
	// staleNews is the time after a peer's last message in which an older one may still arrive.
	staleNews = 10 * time.Second
	// foreignLoggedAfter is the time that foreign members must be present before they are logged: a member
	// just leaving its grid does not count.
	foreignLoggedAfter = 2 * time.Second
	// foreignRemembered is the retention of a foreign member after its last message.
	foreignRemembered = time.Minute
)

type foreignMember struct {
	Grid roster.GridID
	Addr string // of its gossip
}

type encounter struct {
	first, last time.Time
	logged      bool
}

var errForeign = errors.New("grid: it is a member of another grid of the same name")

// NotifyAlive implements memberlist.AliveDelegate. It is called for each message about
// each node, this member too, whichever member passes it on.
func (g *Gossip) NotifyAlive(n *memberlist.Node) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, err := g.reread(n)
	if err != nil || !g.isForeign(p) {
		return nil // note skips unreadable states
	}
	if known := g.alive[p.Incarnation]; time.Since(known.noted) >= staleNews {
		g.meet(p)
	}
	return errForeign
}

// NotifyMerge implements memberlist.MergeDelegate: it refuses a join with a member that lists members
// of other grids and none of this one.
func (g *Gossip) NotifyMerge(nodes []*memberlist.Node) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	refused, known := false, false
	for _, n := range nodes {
		p, err := g.reread(n)
		switch {
		case err != nil || n.State == memberlist.StateDead || n.State == memberlist.StateLeft:
		case p.Grid == g.own:
			known = true
		case g.isForeign(p):
			refused = true
			if _, alive := g.alive[p.Incarnation]; !alive {
				g.meet(p)
			}
		}
	}
	if refused && !known {
		return errForeign
	}
	return nil
}

// isForeign reports whether a peer belongs to another grid than this member. The caller
// holds g.mu.
func (g *Gossip) isForeign(p Peer) bool {
	return !g.own.IsZero() && !p.Grid.IsZero() && p.Grid != g.own && p.Incarnation != g.cfg.Self
}

// meet records that a foreign member was met. The caller holds g.mu.
func (g *Gossip) meet(p Peer) {
	g.setGone(p.Incarnation)
	key := foreignMember{p.Grid, p.Gossip}
	now := time.Now()
	if g.foreign[key] == nil {
		g.foreign[key] = &encounter{first: now}
		g.cfg.State.Notify()
	}
	g.foreign[key].last = now
}

// SetGrid sets this member's grid, zero for none. It drops peers that belong to another one.
func (g *Gossip) SetGrid(own roster.GridID) {
	if g == nil {
		return
	}
	g.mu.Lock()
	g.own = own
	clear(g.foreign)
	for _, p := range g.alive {
		if g.isForeign(p) {
			g.meet(p)
		}
	}
	g.mu.Unlock()
	g.cfg.State.Notify()
}

// Grids returns the grids that peers belong to, and one address in each.
func (g *Gossip) Grids() map[roster.GridID]string {
	out := map[roster.GridID]string{}
	for _, p := range g.Peers() {
		if !p.Grid.IsZero() {
			out[p.Grid] = p.Gossip
		}
	}
	return out
}

// logForeign logs each foreign member once, and forgets those not met again.
func (g *Gossip) logForeign() {
	var tell []foreignMember
	now := time.Now()
	g.mu.Lock()
	own := g.own
	for key, s := range g.foreign {
		switch {
		case now.Sub(s.last) > foreignRemembered:
			delete(g.foreign, key)
		case !s.logged && s.last.Sub(s.first) >= foreignLoggedAfter:
			s.logged = true
			tell = append(tell, key)
		}
	}
	g.mu.Unlock()
	for _, s := range tell {
		g.cfg.Log.Error("two grids have the same name and have met; their members refuse each other: "+ForeignAdvice,
			"grid", own.String(), "other_grid", s.Grid.String(), "other_addr", s.Addr)
	}
}

// ForeignAdvice is the remedy for two grids with one name.
const ForeignAdvice = "stop one of them, or give it another Name (--name)"

// ForeignMembers describes the foreign members that were logged.
func (g *Gossip) ForeignMembers() []string {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []string
	for key, s := range g.foreign {
		if s.logged {
			out = append(out, fmt.Sprintf("grid %s at %s", key.Grid, key.Addr))
		}
	}
	slices.Sort(out)
	return out
}

// ForeignCount returns the number of remembered foreign members.
func (g *Gossip) ForeignCount() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.foreign)
}
