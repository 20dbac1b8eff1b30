package gossip

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// udpPatience is the time that a peer must answer over TCP alone before this member reports it: a
// packet may be lost, and a process may be slow.
const udpPatience = 3 * time.Second

// unansweredUDP is the time of the first and the last packet that a peer did not answer, while it
// answered over TCP, since it last answered a packet.
type unansweredUDP struct{ first, last time.Time }

func (u unansweredUDP) isBlocked() bool { return u.last.Sub(u.first) >= udpPatience }

const probeByTCP = "memberlist: Was able to connect to "

func probedByTCP(line string) (name string, found bool) {
	_, rest, found := strings.Cut(line, probeByTCP)
	name, _, _ = strings.Cut(rest, " ")
	return name, found
}

// noteTCPOnly records that a peer answered over TCP and not over UDP. memberlist may hold its lock.
func (g *Gossip) noteTCPOnly(name string) {
	inc, now := roster.Incarnation(name), time.Now()
	g.mu.Lock()
	p, peer := g.alive[inc]
	u, known := g.noUDP[inc]
	if !known {
		u.first = now
	}
	u.last = now
	if peer {
		g.noUDP[inc] = u
	}
	g.mu.Unlock()
	if peer && u.isBlocked() {
		g.cfg.Library.Report(slog.LevelWarn, "gossip packets not answered; gossip uses TCP, and is slow",
			"allow UDP and TCP on the gossip ports of all members", "addr", p.Gossip)
	}
}

func (g *Gossip) noteUDP(inc roster.Incarnation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.noUDP, inc)
}

// WithoutUDP returns the gossip addresses of the peers that answer this member over TCP alone, sorted.
func (g *Gossip) WithoutUDP() (addrs []string) {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for inc, u := range g.noUDP {
		if u.isBlocked() {
			addrs = append(addrs, g.alive[inc].Gossip)
		}
	}
	slices.Sort(addrs)
	return addrs
}
