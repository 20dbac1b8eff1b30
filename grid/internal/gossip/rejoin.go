package gossip

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

const (
	rejoinEvery = time.Second
	joinsMax    = 32 // concurrent attempts to reach members
	// overdueMax limits the concurrent dials to roster members missing from gossip: one that replies reveals
	// the others.
	overdueMax = 3
	// patience is the time for gossip to deliver a roster member by itself. When a thousand members join,
	// each would otherwise dial all others, and they would exchange full states.
	patience = 2 * time.Second
)

// Rejoin dials members missing from gossip: at the configured entries' addresses, and roster members
// that have been missing for a while. It runs until ctx ends, since memberlist drops dead members and
// never heals a partition by itself.
func (g *Gossip) Rejoin(ctx context.Context) {
	var finding sync.WaitGroup
	finding.Go(func() { g.search.finder.Run(ctx) })
	finding.Go(func() { g.spread(ctx) })
	finding.Go(func() { (&storedNames{dir: g.cfg.DataDir, log: g.cfg.Log}).run(ctx, g) })
	defer finding.Wait()
	unseen := absences{}
	for ctx.Err() == nil {
		changed, again := g.cfg.State.Changed(), time.NewTimer(rejoinEvery)
		complete := g.search.finder.Complete()
		missing := g.missing(unseen, time.Now())
		g.dial(missing)
		if complete && !g.searched.Swap(true) {
			g.cfg.State.Notify()
		}
		g.logForeign()
		g.failRefused()
		if len(missing)+len(unseen) == 0 && complete && g.ForeignCount() == 0 {
			again.Stop() // news triggers the next round
		} else {
			changed = nil
		}
		select {
		case <-ctx.Done():
		case <-g.search.finder.Changed():
		case <-changed:
		case <-again.C:
		}
		again.Stop()
	}
}

// dial joins the members at addresses, and returns when each has answered or failed to. It records the
// addresses without an answer.
func (g *Gossip) dial(addrs []string) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := map[string]error{} // guarded by mu
	dialing := make(chan struct{}, joinsMax)
	for _, addr := range addrs {
		dialing <- struct{}{}
		wg.Go(func() {
			defer func() { <-dialing }()
			if _, err := g.list.Join([]string{addr}); err != nil {
				g.unreached(addr, err)
				mu.Lock()
				failed[addr] = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	g.search.mu.Lock()
	defer g.search.mu.Unlock()
	g.search.noAnswer = failed
}

// dialError returns the text of memberlist's error of a join in one line.
func dialError(addr string, err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return strings.TrimPrefix(strings.TrimPrefix(text, "1 error occurred: * "), "failed to join "+addr+": ")
}

// searchQuietly is for how long a member that sees no other one looks for one without a warning.
const searchQuietly = 10 * time.Second

// unreached logs that an address did not answer: while this member sees no other one, as a warning
// once a minute.
func (g *Gossip) unreached(addr string, err error) {
	if g.cfg.State.Clock.Mono() > searchQuietly && len(g.Peers()) <= 1 {
		g.cfg.Library.Report(slog.LevelWarn, "no member answers at a join address; retrying", dialError(addr, err),
			"addr", addr)
		return
	}
	g.cfg.Log.Debug("no answer from a member yet", "addr", addr, "error", err)
}

// Searched reports whether every address that the configured entries lead to has answered or
// failed to. Before that, gossip may not have seen yet that there are two grids of the name.
func (g *Gossip) Searched() bool { return g.searched.Load() }

// missing returns the addresses to dial: from the configured entries, and of some roster members,
// where gossip has no member.
func (g *Gossip) missing(unseen absences, now time.Time) []string {
	known := map[string]bool{g.Addr(): true, "": true}
	for _, p := range g.Peers() {
		known[p.Gossip] = true
	}
	var out []string
	add := func(addr string) {
		if !known[addr] {
			known[addr] = true
			out = append(out, addr)
		}
	}
	var absent []string
	for _, member := range g.cfg.State.Roster().Members {
		if !known[member.Gossip] {
			absent = append(absent, member.Gossip)
		}
	}
	for _, addr := range g.search.finder.Addrs() {
		add(addr)
	}
	overdue := unseen.note(absent, now)
	rand.Shuffle(len(overdue), func(i, j int) { overdue[i], overdue[j] = overdue[j], overdue[i] })
	for _, addr := range overdue[:min(len(overdue), overdueMax)] {
		add(addr)
	}
	return out
}

// absences are the addresses of members of the roster that gossip does not see, each with the
// time since when it does not.
type absences map[string]time.Time

// note records the absent addresses, and returns those absent for longer than patience.
func (a absences) note(absent []string, now time.Time) (overdue []string) {
	before := maps.Clone(a)
	clear(a)
	for _, addr := range absent {
		since, known := before[addr]
		if !known {
			since = now
		}
		a[addr] = since
		if now.Sub(since) >= patience {
			overdue = append(overdue, addr)
		}
	}
	return overdue
}

// failRefused fails the member if the only answers to it were refusals. With a key it does
// not: any process can answer a dial with a greeting, and a member's messages are sealed.
func (g *Gossip) failRefused() {
	if len(g.Peers()) > 1 {
		return
	}
	switch err := g.transport.Refusal(); {
	case err == nil:
	case g.keys != nil:
		g.cfg.Library.Report(slog.LevelWarn, "gossip greeting refused",
			"a process that was dialed is not a member of this grid", "error", err.Error())
	case err.By == transport.ByName:
		g.cfg.State.Fail(refusal.Invalid("Name: %v", err))
	default:
		g.cfg.State.Fail(refusal.Invalid("release: %v", err))
	}
}
