package gridtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// wiretap records what members send by gossip: each datagram, and the bytes of each stream that
// they open.
type wiretap struct {
	mu      sync.Mutex
	packets [][]byte
	streams []*bytes.Buffer
}

// tapped is a host whose gossip is recorded.
type tapped struct {
	*gridtest.Host
	to *wiretap
}

func (n tapped) ListenPacket(addr string) (net.PacketConn, error) {
	socket, err := n.Host.ListenPacket(addr)
	return tappedSocket{socket, n.to}, err
}

func (n tapped) Dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := n.Host.Dial(ctx, addr)
	if err != nil || !strings.HasSuffix(addr, ":7946") {
		return conn, err
	}
	n.to.mu.Lock()
	defer n.to.mu.Unlock()
	n.to.streams = append(n.to.streams, &bytes.Buffer{})
	return tappedConn{conn, n.to, n.to.streams[len(n.to.streams)-1]}, nil
}

type tappedSocket struct {
	net.PacketConn
	to *wiretap
}

func (s tappedSocket) WriteTo(b []byte, addr net.Addr) (int, error) {
	s.to.mu.Lock()
	s.to.packets = append(s.to.packets, bytes.Clone(b))
	s.to.mu.Unlock()
	return s.PacketConn.WriteTo(b, addr)
}

type tappedConn struct {
	net.Conn
	to   *wiretap
	sent *bytes.Buffer
}

func (c tappedConn) Write(b []byte) (int, error) {
	c.to.mu.Lock()
	c.sent.Write(b)
	c.to.mu.Unlock()
	return c.Conn.Write(b)
}

// recorded returns copies of everything so far.
func (w *wiretap) recorded() (packets, streams [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.streams {
		streams = append(streams, bytes.Clone(s.Bytes()))
	}
	return slices.Clone(w.packets), streams
}

// replay sends recorded messages to every member, from a host that is none.
func replay(t *testing.T, g *gridtest.Grid, packets, streams [][]byte) {
	t.Helper()
	evil := g.Network.Host("evil")
	socket, err := evil.ListenPacket("evil:0")
	ok(t, "socket", err)
	defer func() { _ = socket.Close() }()
	for _, name := range g.Running() {
		to := g.Member(name).Addrs().Gossip
		addr, err := net.ResolveUDPAddr("udp", to)
		ok(t, "address", err)
		for i, b := range packets {
			_, err := socket.WriteTo(b, addr)
			ok(t, "send", err)
			if i%500 == 499 {
				time.Sleep(10 * time.Millisecond) // a member takes 1,024 at a time
			}
		}
		for _, b := range streams {
			conn, err := evil.Dial(t.Context(), to)
			ok(t, "dial", err)
			_, _ = conn.Write(b)
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			for buf := make([]byte, 4096); err == nil; {
				_, err = conn.Read(buf)
			}
			_ = conn.Close()
		}
	}
}

// gossipSize returns how many members the gossip of one sees, those that are gone as well if
// it takes them for alive.
func gossipSize(t *testing.T, g *gridtest.Grid, member string) (n int) {
	t.Helper()
	_, answer := securely(t, g, security.Reader, http.MethodGet, member, membership.PathSize, nil)
	ok(t, "size", json.Unmarshal(answer, &n))
	return n
}

// standing is the state that a replay must not touch.
type standing struct {
	leader  string
	members []string
	owners  []string
}

func standingOf(s grid.Status) (out standing) {
	out.leader = s.Leader
	for _, m := range s.Members {
		out.members = append(out.members, m.Incarnation)
	}
	for _, p := range s.Partitions {
		out.owners = append(out.owners, p.Owner)
	}
	return out
}

// TestReplayedGossip records the gossip of a grid in which a member crashes, restarts, leaves
// and comes back, and sends all of it to every member again. A recorded message is a member's
// and is believed: members that are gone may be seen for some seconds. The roster, the leader,
// owners, readiness and IDs are as before, and the view is right again soon.
func TestReplayedGossip(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for _, durable := range []bool{true, false} {
		t.Run(fmt.Sprintf("durable %v", durable), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var tap wiretap
				g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true, Durable: durable,
					Change: func(name string, c *grid.Config) {
						c.Network = tapped{c.Network.(*gridtest.Host), &tap}
					}})
				s, err := g.Client("web").CreateSequencer(t.Context(), "orders", sequencer.Config{})
				ok(t, "create", err)
				time.Sleep(10 * time.Second)
				earlyPackets, earlyStreams := tap.recorded() // in which no member is gone
				g.Crash("m2")
				time.Sleep(20 * time.Second)
				g.StartMembers("m2")
				time.Sleep(10 * time.Second)
				g.Leave("m3")
				time.Sleep(5 * time.Second)
				g.StartMembers("m3")
				// memberlist has forgotten those that are gone, and members have exchanged their states fifty times
				time.Sleep(8 * time.Minute)
				packets, streams := tap.recorded()
				if len(packets) < 1000 || len(streams) < 50 {
					t.Fatalf("%d datagrams and %d streams were recorded", len(packets), len(streams))
				}
				before := standingOf(g.Member("m1").Status())
				looks := func() {
					t.Helper()
					for _, name := range g.Running() {
						status := g.Member(name).Status()
						if now := standingOf(status); now.leader != before.leader || !slices.Equal(now.members, before.members) ||
							!slices.Equal(now.owners, before.owners) {
							t.Fatalf("%s has %+v, and had %+v", name, now, before)
						}
						if status.NotReady != "" {
							t.Errorf("%s is not ready: %s", name, status.NotReady)
						}
					}
					if _, err := s.Next(within(t, time.Second)); err != nil {
						t.Errorf("Next: %v", err)
					}
				}
				ghosts, last := 0, time.Duration(0)
				for _, early := range []bool{true, false} {
					replayed := make(chan struct{})
					go func() {
						defer close(replayed)
						if early { // which brings members back, with no word of their end
							replay(t, g, earlyPackets, earlyStreams)
						} else {
							replay(t, g, packets, streams)
						}
					}()
					for ended := (time.Time{}); ended.IsZero() ||
						time.Since(ended) < 12*time.Second; time.Sleep(250 * time.Millisecond) {
						looks()
						if more := gossipSize(t, g, "m1") - 3; more > 0 {
							ghosts = max(ghosts, more)
							if !ended.IsZero() {
								last = max(last, time.Since(ended))
							}
						}
						select {
						case <-replayed:
							if ended.IsZero() {
								ended = time.Now()
							}
						default:
						}
					}
				}
				t.Logf("%d members that are gone were seen together, until %v after a replay", ghosts, last)
				if ghosts == 0 {
					t.Error("no recorded message was believed, so this test shows nothing")
				}
				if last > 10*time.Second {
					t.Error("the view was wrong for too long")
				}
				for _, name := range g.Running() {
					if n := gossipSize(t, g, name); n != 3 {
						t.Errorf("%s sees %d members after the replay", name, n)
					}
				}
				for _, name := range g.Running() {
					for _, m := range g.Member(name).Status().Members {
						if !m.Alive {
							t.Errorf("%s does not see %s after the replay", name, m.Name)
						}
					}
				}
				g.StartMembers("m4") // the view is good enough to join by
			})
		})
	}
}

// TestAlteredReplay: a recorded message with another version, which the seal does not cover,
// ends no member. memberlist would take padding off that is not there.
func TestAlteredReplay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tap wiretap
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true, Change: func(name string, c *grid.Config) {
			c.Network = tapped{c.Network.(*gridtest.Host), &tap}
		}})
		time.Sleep(20 * time.Second)
		packets, streams := tap.recorded()
		const label = 2 + len("snowgrid")
		for _, b := range packets {
			b[label] = 0
		}
		for _, b := range streams {
			if at := bytes.LastIndex(b, []byte("\xf4\x08snowgrid\x0a")); at >= 0 && len(b) > at+label+5 {
				b[at+label+5] = 0
			}
		}
		before := standingOf(g.Member("m1").Status())
		replay(t, g, packets, streams)
		for _, name := range g.Running() {
			if now := standingOf(g.Member(name).Status()); now.leader != before.leader ||
				!slices.Equal(now.members, before.members) {
				t.Errorf("%s has %+v, and had %+v", name, now, before)
			}
		}
	})
}
