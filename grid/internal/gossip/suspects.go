package gossip

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Suspecting returns the members that this member's memberlist suspects, ascending, by its own probes
// or by gossip. Each call reads memberlist's state.
func (g *Gossip) Suspecting(ctx context.Context) ([]roster.Incarnation, error) {
	states, err := g.transport.OwnStates(ctx)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	out := []roster.Incarnation{}
	for _, s := range states {
		if _, peer := g.alive[roster.Incarnation(s.Name)]; peer && s.State == memberlist.StateSuspect {
			out = append(out, roster.Incarnation(s.Name))
		}
	}
	slices.Sort(out)
	return out, nil
}

// Suspect has this member suspect a peer as if its own probe had failed: the peer is removed from
// gossip by all members unless it refutes that in time.
func (g *Gossip) Suspect(ctx context.Context, inc roster.Incarnation) error {
	return g.transport.Suspect(ctx, string(inc))
}

// Failing returns the members that did not answer this member's last direct probe,
// ascending. Others may reach them.
func (g *Gossip) Failing() []roster.Incarnation {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.failing))
}

// Log lines by which memberlist reports a failed probe: a ping without an answer, a ping that the socket
// refused, and any failed probe.
const (
	probeUnanswered = "memberlist: Failed UDP ping: "
	probeUnsent     = "memberlist: Failed to send UDP ping: "
	probeFailed     = "memberlist: Suspect "
)

func failedProbe(line string) (name string, failed bool) {
	for _, prefix := range []string{probeUnanswered, probeFailed} {
		if _, rest, found := strings.Cut(line, prefix); found {
			name, _, _ = strings.Cut(rest, " ")
			return name, true
		}
	}
	return "", false
}

// unsentProbe returns the address to which a ping could not be sent according to a memberlist log line. Such a line has
// no name, but an error of package net: "write udp 10.0.0.1:7946->10.0.0.2:7946: sendto: operation not permitted".
func unsentProbe(line string) (addr string, unsent bool) {
	_, failure, unsent := strings.Cut(line, probeUnsent)
	if !unsent {
		return "", false
	}
	if _, addr, unsent = strings.Cut(failure, "->"); !unsent {
		return "", false
	}
	addr, _, unsent = strings.Cut(addr, ": ")
	return addr, unsent
}

// probeLog forwards memberlist's log, records failed probes, and signals suspicions.
type probeLog struct {
	io.Writer
	failed    func(name string)
	unsent    func(addr string)
	byTCP     func(name string)
	suspected func()
}

// Write implements io.Writer; it gets one line at a time.
func (l probeLog) Write(line []byte) (int, error) {
	if name, failed := failedProbe(string(line)); failed {
		l.failed(name)
		if strings.Contains(string(line), probeFailed) {
			l.suspected()
		}
	}
	if addr, unsent := unsentProbe(string(line)); unsent {
		l.unsent(addr)
	}
	if name, found := probedByTCP(string(line)); found {
		l.byTCP(name)
	}
	return l.Writer.Write(line)
}

// noteUnanswered records and signals a peer's failed probe. memberlist may hold its lock.
func (g *Gossip) noteUnanswered(name string) {
	inc := roster.Incarnation(name)
	g.mu.Lock()
	_, peer := g.alive[inc]
	if peer {
		g.failing[inc] = struct{}{}
	}
	g.mu.Unlock()
	if peer && g.cfg.Unanswered != nil {
		g.cfg.Unanswered(inc)
	}
}

// noteUnsent records and signals that a probe to an address could not be sent, as by a rule of a firewall or without a
// route. memberlist then probes through others, and reports nothing if one of them reaches the peer.
func (g *Gossip) noteUnsent(addr string) {
	name := ""
	g.mu.Lock()
	for inc, p := range g.alive {
		if p.Gossip == addr {
			name = string(inc)
		}
	}
	g.mu.Unlock()
	g.noteUnanswered(name)
}

// NotifyPingComplete implements memberlist.PingDelegate: a peer has answered a probe.
func (g *Gossip) NotifyPingComplete(n *memberlist.Node, _ time.Duration, _ []byte) {
	g.noteUDP(roster.Incarnation(n.Name))
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.failing, roster.Incarnation(n.Name))
}
