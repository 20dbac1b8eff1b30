package gossip

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
)

// TestLostPacketIsNoBlockedUDP: a peer that misses one packet is not reported, one that answers over TCP
// alone for a while is, until it answers a packet or is gone.
func TestLostPacketIsNoBlockedUDP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := hearing()
		began := time.Now()
		g.cfg.Library = librarylog.New(slog.New(slog.DiscardHandler), func() time.Duration { return time.Since(began) })
		p := Peer{Incarnation: fuzzedNode, Gossip: "10.0.0.2:7946"}
		g.setAlive(p, "")
		name, found := probedByTCP("[WARN] memberlist: Was able to connect to " + fuzzedNode +
			" over TCP but UDP probes failed, network may be misconfigured")
		if !found || name != fuzzedNode {
			t.Fatalf("the line names %q", name)
		}
		check := func(event string, want ...string) {
			t.Helper()
			if got := g.WithoutUDP(); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", event, got, want)
			}
		}
		block := func() {
			g.noteTCPOnly(name)
			time.Sleep(udpPatience)
			check("one packet is lost")
			g.noteTCPOnly(name)
			check("packets are lost", p.Gossip)
		}
		block()
		g.noteUDP(fuzzedNode)
		check("an answer")
		block()
		g.setGone(fuzzedNode)
		check("the peer is gone")
		g.noteTCPOnly(name)
		time.Sleep(udpPatience)
		g.noteTCPOnly(name)
		check("a process that is no peer")
	})
}
