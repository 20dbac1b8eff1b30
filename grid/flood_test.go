package grid_test

import (
	"fmt"
	"github.com/snowgrid/snowgrid/internal/long"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestHostileConnectionsAreClosed attacks one of three members in every way, many
// times concurrently. Each connection is closed in time, without an effect on honest
// processes: new names are created, and members still see each other.
func TestHostileConnectionsAreClosed(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		leader, m, evil := g.Leader(), g.Member("m1"), g.Network.Host("evil")
		honest := g.Client("honest")
		firstID(t, honest, "before", time.Minute) // of a grid that keeps nothing on disk
		before := lookAt(m)
		const each = 8
		type ending struct {
			a    attack
			took time.Duration
		}
		var endings []chan ending
		for _, a := range attacks(m) {
			for range each {
				conn, err := evil.Dial(t.Context(), a.addr)
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan ending, 1)
				endings = append(endings, ended)
				go func() {
					began := time.Now()
					a.launch(conn, make(chan struct{}, 1))
					_ = conn.SetDeadline(began.Add(time.Minute))
					_, _ = io.Copy(io.Discard, conn)
					_ = conn.Close()
					ended <- ending{a, time.Since(began)}
				}()
			}
		}
		for i := range 40 {
			firstID(t, honest, fmt.Sprint("orders", i), time.Second)
			time.Sleep(500 * time.Millisecond)
		}
		for _, ended := range endings {
			if e := <-ended; e.a.closed > 0 && e.took > e.a.closed {
				t.Errorf("%s: closed after %v, more than %v", e.a.what, e.took, e.a.closed)
			}
		}
		if now := lookAt(m); fmt.Sprint(now) != fmt.Sprint(before) || g.Leader() != leader {
			t.Errorf("m1 sees %+v led by %s, and saw %+v led by %s", now, g.Leader(), before, leader)
		}
	})
}

// firstID creates a sequencer and takes an ID of it.
func firstID(t *testing.T, c *client.Client, name string, limit time.Duration) {
	t.Helper()
	began := time.Now()
	s, err := c.CreateSequencer(t.Context(), name, sequencer.Config{})
	if err == nil {
		_, err = s.Next(t.Context())
	}
	if took := time.Since(began); err != nil || took > limit {
		t.Fatalf("%s: a first ID after %v, %v", name, took, err)
	}
}

// TestRaftKeepsTheStreamsInUse opens more Raft streams than are kept, each of which
// asks for something and is answered, and then is silent. The leader's own stay.
func TestRaftKeepsTheStreamsInUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(time.Minute) // the roster rests
		leader := g.Leader()
		target := "m1"
		if leader == target {
			target = "m2"
		}
		m := g.Member(target)
		time.Sleep(10 * time.Second) // holders have been asked, and the voters that keep definitions are named
		s, id := m.Status(), grid.RosterOf(m).Grid
		var conns []net.Conn
		for range 3 * transport.StreamsMax {
			conn, err := g.Network.Host("evil").Dial(t.Context(), m.Addrs().Raft)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			// A heartbeat of an old term, 2 bytes long, is answered, and changes nothing.
			_, _ = conn.Write(append(transport.Preamble{Grid: id, Target: s.Answering}.Encode(), 0, 0x80))
			_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				t.Fatalf("a request is not answered: %v", err)
			}
			conns = append(conns, conn)
		}
		time.Sleep(time.Minute)
		open := 0
		for _, conn := range conns {
			_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
				open++
			}
		}
		if open == 0 || open > transport.StreamsMax {
			t.Errorf("%d silent streams are kept, want 1 to %d", open, transport.StreamsMax)
		}
		if g.Leader() != leader || m.Status().Version != s.Version {
			t.Errorf("leader %s at version %d, and was %s at %d", g.Leader(), m.Status().Version, leader, s.Version)
		}
	})
}
