package gossip

import (
	"sync/atomic"
	"testing"
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
