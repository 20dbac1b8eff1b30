package transport_test

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

func newGossip(t *testing.T, nw transport.Network, name, bind string) *transport.Gossip {
	t.Helper()
	tr, err := transport.NewGossip(t.Context(), transport.GossipConfig{Network: nw, Grid: name, Bind: bind})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Shutdown() })
	return tr
}

func TestGossipTransportOnRealSockets(t *testing.T) {
	a := newGossip(t, transport.Sockets{}, "g", "127.0.0.1:0")
	b := newGossip(t, transport.Sockets{}, "g", "127.0.0.1:0")
	conn, err := a.DialTimeout(b.Addr(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	peer := <-b.StreamCh()
	_, _ = conn.Write([]byte("after the greeting"))
	_ = conn.Close()
	if got, err := io.ReadAll(peer); err != nil || string(got) != "after the greeting" {
		t.Errorf("got %q, %v", got, err)
	}
	_ = peer.Close()

	// Over loopback a datagram may still be lost: send until one comes.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := a.WriteTo([]byte("ping"), b.Addr()); err != nil {
			t.Fatal(err)
		}
		select {
		case p := <-b.PacketCh():
			if string(p.Buf) != "ping" || p.From.String() != a.Addr() {
				t.Errorf("got %q from %v, want from %s", p.Buf, p.From, a.Addr())
			}
			return
		case <-tick.C:
		}
	}
}

func TestGossipTransportWantsBothPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := gridtest.NewNetwork().Host("a")
		used, err := a.ListenPacket("a:40001") // the first port a listener gets
		if err != nil {
			t.Fatal(err)
		}
		tr := newGossip(t, a, "g", "a:0")
		if tr.Addr() == used.LocalAddr().String() {
			t.Errorf("chose %s, where the socket is not its own", tr.Addr())
		}
		_, err = transport.NewGossip(t.Context(), transport.GossipConfig{Network: a, Grid: "g", Bind: "a:40001"})
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a port whose socket is used: %v", err)
		}
		if ln, err := a.Listen("a:40001"); err != nil {
			t.Errorf("the listener was left open: %v", err)
		} else {
			_ = ln.Close()
		}
	})
}

func TestGossipTransportRefusesAnotherGrid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := newGossip(t, n.Host("a"), "A", "a:7946")
		b := newGossip(t, n.Host("b"), "B", "b:7946")
		_, err := a.DialTimeout(b.Addr(), 5*time.Second)
		var refused *transport.RefusedError
		if !errors.As(err, &refused) || refused.By != transport.ByName || refused.Addr != b.Addr() {
			t.Fatalf("dial: %v", err)
		}
		want := `grid: a member at ` + b.Addr() +
			` belongs to grid "B", this member is configured for grid "A": set the same Name (--name) or fix Join (--join)`
		if refused.Error() != want {
			t.Errorf("message %q, want %q", refused, want)
		}
		if a.Refusal() != refused {
			t.Errorf("Refusal() = %v", a.Refusal())
		}
		if b.Refusal() != nil {
			t.Errorf("the listener was refused: %v", b.Refusal())
		}
		synctest.Wait()
		if len(b.StreamCh()) != 0 {
			t.Error("the refused stream was handed on")
		}

		_ = b.Shutdown()
		right := newGossip(t, n.Host("b"), "A", "b:7946")
		conn, err := a.DialTimeout(right.Addr(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		if a.Refusal() != nil {
			t.Errorf("still refused after a success: %v", a.Refusal())
		}
	})
}

func TestGossipTransportDropsGarbageAndSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := newGossip(t, n.Host("a"), "g", "a:7946")
		for _, garbage := range []string{"GET / HTTP/1.1\r\n\r\n", "SNOW", "SNOW\x11\xffshort", ""} {
			conn, err := n.Host("b").Dial(t.Context(), a.Addr())
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, _ = conn.Write([]byte(garbage))
			got, _ := io.ReadAll(conn)
			if len(got) != 0 || time.Since(start) > transport.HandshakeTimeout {
				t.Errorf("%q: answered %q after %v", garbage, got, time.Since(start))
			}
		}

		ln, _ := n.Host("mute").Listen("mute:1")
		for timeout, want := range map[time.Duration]time.Duration{
			10 * time.Second: transport.HandshakeTimeout,
			time.Second:      time.Second,
		} {
			start := time.Now()
			if _, err := a.DialTimeout(ln.Addr().String(), timeout); err == nil || time.Since(start) != want {
				t.Errorf("dial to a mute listener within %v: %v after %v", timeout, err, time.Since(start))
			}
		}
	})
}

// Many that trickle their greeting must not keep an honest member out, and must
// not be kept themselves.
func TestGossipTransportWithstandsSlowGreeters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := newGossip(t, n.Host("a"), "g", "a:7946")
		b := newGossip(t, n.Host("b"), "g", "b:7946")
		var slow []net.Conn
		for range 3 * transport.HandshakesMax {
			conn, err := n.Host("slow").Dial(t.Context(), a.Addr())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write([]byte("S"))
			slow = append(slow, conn)
		}
		synctest.Wait() // the queue of the listener is empty
		start := time.Now()
		conn, err := b.DialTimeout(a.Addr(), time.Second)
		if err != nil || time.Since(start) != 0 {
			t.Fatalf("an honest dial: %v after %v", err, time.Since(start))
		}
		_ = conn.Close()
		synctest.Wait()
		for _, conn := range slow {
			_ = conn.SetReadDeadline(start.Add(transport.SilentMost))
			if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("a slow stream outlives its wait for a place and its handshake")
			}
			_ = conn.Close()
		}
	})
}

func TestGossipTransportShutdownEndsHandshakesAndDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := newGossip(t, n.Host("a"), "g", "a:7946")
		half, _ := n.Host("b").Dial(t.Context(), a.Addr())
		mute, _ := n.Host("b").Listen("b:1")
		dialed := make(chan error, 1)
		go func() {
			_, err := a.DialTimeout(mute.Addr().String(), time.Minute)
			dialed <- err
		}()
		synctest.Wait()
		start := time.Now()
		if err := a.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-dialed; err == nil {
			t.Error("a dial succeeded")
		}
		_, _ = io.ReadAll(half)
		if time.Since(start) != 0 {
			t.Errorf("took %v", time.Since(start))
		}
		if err := a.Shutdown(); err != nil {
			t.Errorf("a second time: %v", err)
		}
	})
}

func TestGossipTransportChecksItsConfiguration(t *testing.T) {
	for _, cfg := range []transport.GossipConfig{
		{Grid: "", Bind: "127.0.0.1:0"},
		{Grid: strings.Repeat("x", 256), Bind: "127.0.0.1:0"},
		{Grid: "g", Bind: "127.0.0.1"},
	} {
		cfg.Network = transport.Sockets{}
		if tr, err := transport.NewGossip(t.Context(), cfg); err == nil {
			t.Errorf("accepted %+v", cfg)
			_ = tr.Shutdown()
		}
	}
}

func TestGossipTransportAdvertises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		tr, err := transport.NewGossip(t.Context(), transport.GossipConfig{
			Network: n.Host("a"), Grid: "g", Bind: "a:7", AdvertiseHost: "proxy",
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tr.Shutdown() }()
		ip, port, err := tr.FinalAdvertiseAddr("", 0)
		if err != nil || !bytes.Equal(ip, n.Host("proxy").IP().AsSlice()) || port != 7 {
			t.Errorf("advertises %v:%d, %v", ip, port, err)
		}
	})
}

// memberlistOn starts a memberlist the way members do.
func memberlistOn(t *testing.T, nw transport.Network, gridName, name string) *memberlist.Memberlist {
	t.Helper()
	tr := newGossip(t, nw, gridName, name+":7946")
	conf := memberlist.DefaultLANConfig()
	conf.Name = name
	conf.Transport = tr
	conf.Label = gridName
	conf.Logger = log.New(io.Discard, "", 0)
	conf.EnableCompression = false
	conf.ProbeInterval, conf.ProbeTimeout = 300*time.Millisecond, 150*time.Millisecond
	conf.SuspicionMult, conf.SuspicionMaxTimeoutMult = 3, 3
	conf.GossipInterval = 100 * time.Millisecond
	return create(t, conf)
}

// create starts a memberlist that ends with the test. Its goroutines take up to
// half a minute to end.
func create(t *testing.T, conf *memberlist.Config) *memberlist.Memberlist {
	t.Helper()
	m, err := memberlist.Create(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.Shutdown()
		time.Sleep(30 * time.Second)
	})
	return m
}

func names(m *memberlist.Memberlist) (names []string) {
	for _, node := range m.Members() {
		names = append(names, node.Name)
	}
	slices.Sort(names)
	return names
}

// within waits until ok, at most for limit.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func TestMemberlistDetectsACrashAndRejoinsAfterACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		lists := map[string]*memberlist.Memberlist{}
		for _, name := range []string{"a", "b", "c"} {
			lists[name] = memberlistOn(t, n.Host(name), "g", name)
		}
		seed := n.Host("a").IP().String() + ":7946"
		for _, name := range []string{"b", "c"} {
			if _, err := lists[name].Join([]string{seed}); err != nil {
				t.Fatal(err)
			}
		}
		see := func(who string, want ...string) func() bool {
			return func() bool { return slices.Equal(names(lists[who]), want) }
		}
		for name := range lists {
			within(t, time.Second, name+" sees all", see(name, "a", "b", "c"))
		}

		n.Cut("a", "b")
		n.Cut("a", "c")
		within(t, 3*time.Second, "b without a", see("b", "b", "c"))
		// A member without answers suspects itself first, and probes less often.
		within(t, 10*time.Second, "a alone", see("a", "a"))
		n.HealAll()
		within(t, 10*time.Second, "a re-joins", func() bool {
			_, err := lists["b"].Join([]string{seed})
			return err == nil
		})
		for name := range lists {
			within(t, 3*time.Second, name+" sees all again", see(name, "a", "b", "c"))
		}
		for name, list := range lists {
			within(t, 30*time.Second, name+" trusts itself", func() bool { return list.GetHealthScore() == 0 })
		}

		n.Crash("c")
		within(t, 3*time.Second, "a without c", see("a", "a", "b"))
		within(t, time.Second, "b without c", see("b", "a", "b"))
	})
}

func TestJoinOfAnotherGridIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		memberlistOn(t, n.Host("a"), "A", "a")
		conf := memberlist.DefaultLANConfig()
		tr := newGossip(t, n.Host("b"), "B", "b:7946")
		conf.Transport, conf.Label, conf.Name = tr, "B", "b"
		conf.Logger = log.New(io.Discard, "", 0)
		joined, err := create(t, conf).Join([]string{n.Host("a").IP().String() + ":7946"})
		if joined != 0 || err == nil {
			t.Fatalf("joined %d, %v", joined, err)
		}
		refused := tr.Refusal()
		if refused == nil || refused.By != transport.ByName || !strings.Contains(refused.Error(), `belongs to grid "A"`) {
			t.Errorf("Refusal() = %v", refused)
		}
		if errors.As(err, &refused) {
			t.Error("memberlist keeps the error now: Refusal is no longer needed")
		}
	})
}

func FuzzReadGreeting(f *testing.F) {
	f.Add(transport.Greeting{Name: "snowgrid"}.Encode())
	f.Add([]byte("SNOW\x11\x05abc"))
	f.Add(transport.Greeting{Name: "snowgrid", Release: ours}.Encode())
	f.Add([]byte("GET / HTTP/1.1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		g, err := transport.ReadGreeting(r)
		if err != nil {
			return
		}
		if read := b[:len(b)-r.Len()]; !bytes.Equal(g.Encode(), read) {
			t.Errorf("%q is accepted as %q", read, g.Encode())
		}
	})
}
