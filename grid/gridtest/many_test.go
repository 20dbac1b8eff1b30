package gridtest_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

var (
	many        = flag.Int("many", 12, "members of the grid of TestManyMembers")
	manyProfile = flag.String("many-profile", "",
		"file for a CPU profile of its grid at rest, by the label \"member\"; the leader's name is printed")
)

// TestManyMembers has a grid of many members formed, joined by another, and robbed of its leader and
// of a voter, in virtual time, and prints how long each took and the traffic at rest.
func TestManyMembers(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	profile := newRestProfile(t, *manyProfile)
	synctest.Test(t, func(t *testing.T) {
		sent := &traffic{of: map[string]*hostTraffic{}}
		g := gridtest.New(t, gridtest.Config{Members: 3, Change: func(name string, c *grid.Config) {
			joinersExpectNothing(3)(name, c)
			c.Network = &countedNetwork{c.Network.(*gridtest.Host), sent.host(name)}
		}})
		ready := func(names []string) func() bool {
			return func() bool {
				return !slices.ContainsFunc(names, func(name string) bool { return !g.Member(name).Ready() })
			}
		}
		voting := func(but string) bool { // three vote, and one that has crashed does not
			votes := 0
			for _, m := range g.Member(g.Leader()).Status().Members {
				switch {
				case m.Voter && m.Incarnation == but:
					return false
				case m.Voter:
					votes++
				}
			}
			return votes == 3
		}
		placed := func() {
			eventually(t, 5*time.Minute, "everything is placed", func() bool {
				return !slices.ContainsFunc(g.Member(g.Leader()).Status().Members,
					func(m grid.MemberInfo) bool { return !m.Settled })
			})
		}
		var names []string
		for i := range *many {
			names = append(names, fmt.Sprint("m", i+1))
		}
		began, used := time.Now(), processor()
		passed := func() time.Duration { return time.Since(began).Round(time.Millisecond) }
		g.StartMembers(names[:3]...)
		g.StartMembers(names[3:]...)
		eventually(t, 5*time.Minute, "all members are ready", ready(names))
		t.Logf("%d members: all ready after %v (%.1f s of processors)", *many, passed(), (processor() - used).Seconds())
		placed()

		began = time.Now()
		g.StartMembers("m0")
		eventually(t, time.Minute, "the newcomer is ready", ready([]string{"m0"}))
		t.Logf("one more: ready after %v", passed())
		placed()
		time.Sleep(time.Minute) // the first owners' floors pass, and the partitions move to where they are placed

		leads := g.Leader()
		gone := g.Member(leads).Status().Answering
		all, own, calls, used := sent.bytes(""), sent.bytes(leads), sent.writes(leads), processor()
		span := 30 * time.Second
		if *many > 100 {
			span = 3 * time.Minute // in which each of a thousand members exchanges everything once by gossip
		}
		profile.start()
		time.Sleep(span)
		profile.stop()
		perSecond := func(n int64) float64 { return float64(n) / span.Seconds() }
		t.Logf("at rest, led by %s: %.0f bytes a second and member; the leader sends %.0f bytes in %.0f writes a second; "+
			"all together %.3f processors",
			leads, perSecond(sent.bytes("")-all)/float64(*many+1), perSecond(sent.bytes(leads)-own),
			perSecond(sent.writes(leads)-calls), (processor()-used).Seconds()/span.Seconds())

		began = time.Now()
		g.Crash(leads)
		eventually(t, time.Minute, "another member leads", func() bool { return g.Leader() != "" && g.Leader() != leads })
		led := passed()
		eventually(t, time.Minute, "every member follows it", func() bool {
			next := g.Member(g.Leader()).Status()
			return !slices.ContainsFunc(g.Running(),
				func(name string) bool { return g.Member(name).Status().Leader != next.Answering })
		})
		followed := passed()
		eventually(t, time.Minute, "three members vote", func() bool { return voting(gone) })
		t.Logf("leader crashed: another after %v, followed by all after %v, three votes after %v", led, followed, passed())
		placed()

		var voter string
		leads = g.Leader()
		for _, name := range g.Running() {
			s := g.Member(name).Status()
			votes := slices.ContainsFunc(s.Members, func(m grid.MemberInfo) bool {
				return m.Voter &&
					m.Incarnation == s.Answering
			})
			if votes && name != leads {
				voter, gone = name, s.Answering
				break
			}
		}
		began = time.Now()
		g.Crash(voter)
		eventually(t, time.Minute, "three others vote", func() bool { return voting(gone) })
		t.Logf("voter crashed: three votes after %v", passed())
		eventually(t, time.Minute, "it is out", func() bool {
			return len(g.Member(g.Leader()).Status().Members) == *many-1
		})
	})
}

// restProfile writes a CPU profile of a span. The writer of profiles is kept out of the bubble: it
// reads them by the clock.
type restProfile struct{ begin, begun, end, ended chan struct{} }

// newRestProfile returns a profile that goes to a file, or nowhere if name is "".
func newRestProfile(t *testing.T, name string) *restProfile {
	t.Helper()
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &restProfile{make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(p.ended)
		<-p.begin
		if err := pprof.StartCPUProfile(file); err != nil {
			t.Error(err)
		}
		close(p.begun)
		<-p.end
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	return p
}

// start begins the span.
func (p *restProfile) start() {
	if p != nil {
		close(p.begin)
		<-p.begun
	}
}

// stop ends it.
func (p *restProfile) stop() {
	if p != nil {
		close(p.end)
		<-p.ended
	}
}

// traffic counts what each host sends.
type traffic struct {
	mu sync.Mutex // guards of
	of map[string]*hostTraffic
}

type hostTraffic struct{ bytes, writes atomic.Int64 }

func (s *traffic) host(name string) *hostTraffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[name] == nil {
		s.of[name] = &hostTraffic{}
	}
	return s.of[name]
}

// bytes returns the bytes that a host has sent, or all if name is "".
func (s *traffic) bytes(name string) (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for of, h := range s.of {
		if name == "" || of == name {
			n += h.bytes.Load()
		}
	}
	return n
}

func (s *traffic) writes(name string) int64 { return s.host(name).writes.Load() }

func (h *hostTraffic) note(n int) {
	h.bytes.Add(int64(n))
	h.writes.Add(1)
}

// countedNetwork is a host whose traffic is counted.
type countedNetwork struct {
	*gridtest.Host
	sent *hostTraffic
}

// Dial implements grid.Network.
func (n *countedNetwork) Dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := n.Host.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &countedConn{c, n.sent}, nil
}

// Listen implements grid.Network.
func (n *countedNetwork) Listen(addr string) (net.Listener, error) {
	ln, err := n.Host.Listen(addr)
	return &countedListener{ln, n.sent}, err
}

// ListenPacket implements grid.Network.
func (n *countedNetwork) ListenPacket(addr string) (net.PacketConn, error) {
	c, err := n.Host.ListenPacket(addr)
	return &countedPackets{c, n.sent}, err
}

type countedListener struct {
	net.Listener
	sent *hostTraffic
}

// Accept implements net.Listener.
func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{c, l.sent}, nil
}

type countedConn struct {
	net.Conn
	sent *hostTraffic
}

// Write implements net.Conn.
func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.note(n)
	return n, err
}

type countedPackets struct {
	net.PacketConn
	sent *hostTraffic
}

// WriteTo implements net.PacketConn.
func (p *countedPackets) WriteTo(b []byte, to net.Addr) (int, error) {
	n, err := p.PacketConn.WriteTo(b, to)
	p.sent.note(n)
	return n, err
}
