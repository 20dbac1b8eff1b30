package transport_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// ours is the release of the transports under test.
var ours = roster.Release{Min: 1, Max: 2, Build: "v2"}

// greets returns the transport of a member of a release.
func greets(t *testing.T, nw transport.Network, release roster.Release, bind string) *transport.Gossip {
	t.Helper()
	tr, err := transport.NewGossip(t.Context(), transport.GossipConfig{Network: nw, Grid: "g", Bind: bind,
		Release: release})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Shutdown() })
	return tr
}

// TestGreetingOfReleases: members of releases with a protocol in common greet each other,
// with their releases.
func TestGreetingOfReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := greets(t, n.Host("a"), ours, "a:1")
		b := greets(t, n.Host("b"), roster.Release{Min: 2, Max: 3, Build: "v3"}, "b:1")
		conn, err := a.DialTimeout(b.Addr(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		synctest.Wait()
		if len(b.StreamCh()) != 1 || a.Refusal() != nil {
			t.Errorf("%d streams, refusal %v", len(b.StreamCh()), a.Refusal())
		}
		_ = (<-b.StreamCh()).Close()
	})
}

// TestGreetingOfAnIncompatibleRelease: both are named, with the remedy.
func TestGreetingOfAnIncompatibleRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := greets(t, n.Host("a"), ours, "a:1")
		b := greets(t, n.Host("b"), roster.Release{Min: 3, Max: 4, Build: "v4"}, "b:1")
		for dialer, to := range map[*transport.Gossip]*transport.Gossip{a: b, b: a} {
			_, err := dialer.DialTimeout(to.Addr(), time.Second)
			want := "snowgrid v2 (protocols 1 to 2) and snowgrid v4 (protocols 3 to 4) have no protocol in common; upgrade " +
				"the older one to a release that has protocol 3 first"
			var refused *transport.RefusedError
			if !errors.As(err, &refused) || refused.By != transport.ByRelease || refused.Addr != to.Addr() ||
				!strings.HasSuffix(err.Error(), want) {
				t.Errorf("got %v\nwant ... %s", err, want)
			}
			if dialer.Refusal() != refused {
				t.Errorf("Refusal() = %v", dialer.Refusal())
			}
		}
		synctest.Wait()
		if len(a.StreamCh())+len(b.StreamCh()) != 0 {
			t.Error("a stream was handed on")
		}
	})
}

// TestGreetingOfAnUnknownNumber: it is answered, so that the other side can tell why, and
// closed.
func TestGreetingOfAnUnknownNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := greets(t, n.Host("a"), ours, "a:1")
		for _, greeting := range []string{"SNOW\x13\x01g", "SNOW\x12\x01g\x00\x02\x00", "SNOW\x12\x01g\x02\x01\x00",
			"SNOW\x12\x01g\x01\x02\xff"} {
			conn, err := n.Host("b").Dial(t.Context(), a.Addr())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write([]byte(greeting))
			if got, err := io.ReadAll(conn); err != nil || len(got) > 0 &&
				!bytes.Equal(got, transport.Greeting{Name: "g", Release: ours}.Encode()) ||
				len(got) == 0 && greeting[4] == 0x13 {
				t.Errorf("%q was answered %q, %v", greeting, got, err)
			}
		}
		synctest.Wait()
		if len(a.StreamCh()) != 0 {
			t.Error("a stream was handed on")
		}
		ln, _ := n.Host("later").Listen("later:1")
		go func() {
			if conn, err := ln.Accept(); err == nil {
				_, _ = conn.Write([]byte("SNOW\x13\x01g"))
			}
		}()
		if _, err := a.DialTimeout(ln.Addr().String(), time.Second); err == nil ||
			!strings.Contains(err.Error(), "it has number 0x13, and this release knows 0x12") {
			t.Errorf("dial to an unknown number: %v", err)
		}
	})
}

// TestGreetingOfAnotherPort: a server that does not greet, such as an API, has the port to give as its remedy.
func TestGreetingOfAnotherPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		l, err := n.Host("b").Listen("b:2")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		go func() {
			if conn, err := l.Accept(); err == nil {
				_ = conn.Close()
			}
		}()
		a := greets(t, n.Host("a"), ours, "a:1")
		_, err = a.DialTimeout("b:2", time.Second)
		if err == nil || !strings.Contains(err.Error(), "b:2: is it a gossip address, and no API or Raft address?") {
			t.Error(err)
		}
	})
}
