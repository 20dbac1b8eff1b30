package gossip

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestNothingIsSentAfterTheEnd: after the goodbye, and after Close, a member says neither goodbye nor news: memberlist
// would panic.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	for what, end := range map[string]func(*Gossip) *atomic.Bool{
		"the goodbye": func(g *Gossip) *atomic.Bool { return &g.left },
		"Close":       func(g *Gossip) *atomic.Bool { return &g.closed },
	} {
		t.Run(what, func(t *testing.T) {
			g := silent(Config{}) // without a memberlist: a call of it panics, too
			end(g).Store(true)
			g.Leave(t.Context(), false)
			g.Announce(t.Context())
		})
	}
}

// TestNoPingAtTheEnd: news that is being passed on when a member ends causes no ping. It would get no answer, and the
// end would wait for it.
func TestNoPingAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := silent(Config{}) // without a memberlist: a ping panics
		g.setAlive(Peer{Incarnation: fuzzedNode, Gossip: "10.0.0.2:7946"}, "")
		ctx, cancel := context.WithTimeout(t.Context(), spreadDelay/2)
		defer cancel()
		g.news.Send()
		g.spread(ctx)
	})
}
