package transport_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
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
	tr, err := transport.NewGossip(t.Context(), transport.GossipConfig{Network: nw, Grid: "g", Bind: bind, Release: release})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Shutdown() })
	return tr
}

// older is the greeting of a release of protocol 1, to the byte.
const older = "SNOW\x11\x01g"

// listenOlder answers as a release of protocol 1 does: always with its greeting, and it
// keeps the streams that greet in the same way.
func listenOlder(t *testing.T, ln net.Listener) (dialed, kept *atomic.Int64) {
	t.Helper()
	dialed, kept = new(atomic.Int64), new(atomic.Int64)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			dialed.Add(1)
			head := make([]byte, len(older))
			_, err = io.ReadFull(conn, head)
			_, _ = conn.Write([]byte(older))
			if err != nil || string(head) != older {
				_ = conn.Close()
				continue
			}
			kept.Add(1)
		}
	}()
	return dialed, kept
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

// TestGreetingOfTheReleaseBefore: it is dialed again in its own way, which is kept for a
// minute, and answered in its own way.
func TestGreetingOfTheReleaseBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := greets(t, n.Host("a"), ours, "a:1")
		ln, err := n.Host("old").Listen("old:1")
		if err != nil {
			t.Fatal(err)
		}
		dialed, kept := listenOlder(t, ln)
		dial := func() {
			t.Helper()
			conn, err := a.DialTimeout(ln.Addr().String(), time.Second)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
			synctest.Wait()
		}
		for i, c := range []struct {
			after        time.Duration
			dialed, kept int64
		}{{0, 2, 1}, {30 * time.Second, 3, 2}, {31 * time.Second, 5, 3}} {
			time.Sleep(c.after)
			if dial(); dialed.Load() != c.dialed || kept.Load() != c.kept {
				t.Errorf("dial %d: %d streams were opened and %d kept, want %d and %d", i, dialed.Load(), kept.Load(), c.dialed, c.kept)
			}
		}

		conn, err := n.Host("old").Dial(t.Context(), a.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Write([]byte(older))
		answer := make([]byte, len(older))
		if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != older {
			t.Errorf("answered %q, %v; want %q", answer, err, older)
		}
		synctest.Wait()
		if len(a.StreamCh()) != 1 {
			t.Errorf("%d of its streams were handed on", len(a.StreamCh()))
		}
		_ = (<-a.StreamCh()).Close()
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
			want := "snowgrid v2 (protocols 1 to 2) and snowgrid v4 (protocols 3 to 4) have no protocol in common; upgrade the older one to a release that has protocol 3 first"
			var refused *transport.ReleaseRefusedError
			if !errors.As(err, &refused) || refused.Addr != to.Addr() || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("got %v\nwant ... %s", err, want)
			}
			if !errors.As(dialer.Refusal(), &refused) {
				t.Errorf("Refusal() = %v", dialer.Refusal())
			}
		}
		synctest.Wait()
		if len(a.StreamCh())+len(b.StreamCh()) != 0 {
			t.Error("a stream was handed on")
		}

		ln, err := n.Host("old").Listen("old:1")
		if err != nil {
			t.Fatal(err)
		}
		listenOlder(t, ln)
		if _, err := b.DialTimeout(ln.Addr().String(), time.Second); err == nil || !strings.Contains(err.Error(), "of an unknown build (protocol 1) and snowgrid v4") {
			t.Errorf("to a release of protocol 1: %v", err)
		}
	})
}

// TestGreetingOfAnUnknownNumber: it is answered, so that the other side can tell why, and
// closed.
func TestGreetingOfAnUnknownNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := greets(t, n.Host("a"), ours, "a:1")
		for _, greeting := range []string{"SNOW\x13\x01g", "SNOW\x12\x01g\x00\x02\x00", "SNOW\x12\x01g\x02\x01\x00", "SNOW\x12\x01g\x01\x02\xff"} {
			conn, err := n.Host("b").Dial(t.Context(), a.Addr())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write([]byte(greeting))
			if got, err := io.ReadAll(conn); err != nil || len(got) > 0 && !bytes.Equal(got, transport.Greeting{Name: "g", Release: ours}.Encode()) ||
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
		if _, err := a.DialTimeout(ln.Addr().String(), time.Second); err == nil || !strings.Contains(err.Error(), "it has number 0x13, and this release knows 0x11 and 0x12") {
			t.Errorf("dial to an unknown number: %v", err)
		}
	})
}
