package gossip

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/signal"
)

// memberlist looks for news to pass on at a fixed interval. While nothing happens that is in
// vain, and costs more than all else it does. So the interval is long here, and a member that has
// news, its own or another's, pings a few others: memberlist adds to each message the news that it
// is to pass on.
const (
	// spreadDelay is the time over which news is batched, and spreadAgain the pause before a second round:
	// memberlist repeats each message a few times.
	spreadDelay = 10 * time.Millisecond
	spreadAgain = 100 * time.Millisecond
	// spreadRounds is the rounds that follow news.
	spreadRounds = 3
	// spreadTo is the number of members per round, as in memberlist.
	spreadTo = 3
	// pingsAwaited bounds the wait at the end for pings without an answer: they last for half a probe's interval,
	// which may be 30 s.
	pingsAwaited = 500 * time.Millisecond
)

func (g *Gossip) spread(ctx context.Context) {
	var pings sync.WaitGroup
	defer awaitPings(&pings)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-g.news:
		}
		pause := spreadDelay
		for range spreadRounds {
			if !signal.Sleep(ctx, pause) {
				return // a ping gets no answer now, and the end would wait for it
			}
			g.pingSome(&pings)
			pause = spreadAgain
		}
	}
}

// awaitPings waits for pings to end, [pingsAwaited] at most.
func awaitPings(pings *sync.WaitGroup) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pings.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(pingsAwaited):
	}
}

// pingSome pings a few members, including suspected ones, which must receive the news.
func (g *Gossip) pingSome(pings *sync.WaitGroup) {
	peers, told := g.Peers(), 0
	for _, i := range rand.Perm(len(peers)) {
		p := peers[i]
		if p.Incarnation == g.cfg.Self {
			continue
		}
		addr, err := netip.ParseAddrPort(p.Gossip)
		if err != nil {
			continue
		}
		if told++; told > spreadTo {
			return
		}
		pings.Go(func() {
			// memberlist's own probes detect failures; here the news has to arrive, also without UDP
			if _, err := g.list.Ping(string(p.Incarnation), net.UDPAddrFromAddrPort(addr)); err == nil {
				g.noteUDP(p.Incarnation)
				return
			}
			if g.hasLeft() {
				return
			}
			if _, err := g.list.Join([]string{p.Gossip}); err == nil {
				g.noteTCPOnly(string(p.Incarnation))
			}
		})
	}
}
