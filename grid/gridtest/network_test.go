package gridtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// pair opens a stream from host a to host b.
func pair(t *testing.T, n *gridtest.Network) (a, b net.Conn) {
	t.Helper()
	ln, err := n.Host("b").Listen("b:0")
	if err != nil {
		t.Fatal(err)
	}
	a, err = n.Host("a").Dial(t.Context(), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err = ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ln.Close()
		_ = a.Close()
		_ = b.Close()
	})
	return a, b
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatalf("write %q: %v", text, err)
	}
}

// expect reads exactly text, and fails if it takes another time than after.
func expect(t *testing.T, c net.Conn, text string, after time.Duration) {
	t.Helper()
	start := time.Now()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatalf("read: %v, want %q", err, text)
	}
	if string(got) != text {
		t.Fatalf("read %q, want %q", got, text)
	}
	if took := time.Since(start); took != after {
		t.Fatalf("%q took %v, want %v", text, took, after)
	}
}

// silent fails if anything arrives within a second.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	n, err := c.Read(make([]byte, 10))
	var timeout net.Error
	if n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("read %d bytes and %v, want a timeout", n, err)
	}
}

func TestStreamCarriesMoreThanItsBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		n.SetDelay(10 * time.Millisecond)
		a, b := pair(t, n)
		sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
		written := make(chan error, 1)
		go func() {
			_, err := a.Write(sent)
			written <- errors.Join(err, a.Close())
		}()
		synctest.Wait()
		select {
		case err := <-written:
			t.Fatalf("1 MiB was written without a reader (%v)", err)
		default:
		}
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("read %d bytes, %v", len(got), err)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	})
}

func TestDelayIsOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		n.SetDelay(20 * time.Millisecond)
		start := time.Now()
		a, b := pair(t, n)
		if took := time.Since(start); took != 40*time.Millisecond {
			t.Fatalf("dial took %v, want a round trip of 40ms", took)
		}
		send(t, a, "ping")
		expect(t, b, "ping", 20*time.Millisecond)
	})
}

// TestRegionsAreFurtherApart: streams and datagrams take longer between regions, and not in one.
func TestRegionsAreFurtherApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		n.SetDelay(time.Millisecond)
		n.SetRegionDelay(40 * time.Millisecond)
		for _, far := range []bool{false, true} {
			want := time.Millisecond
			if far {
				n.SetRegion("b", "elsewhere")
				want += 40 * time.Millisecond
			}
			start := time.Now()
			a, b := pair(t, n)
			if took := time.Since(start); took != 2*want {
				t.Errorf("far %v: a dial took %v, want %v", far, took, 2*want)
			}
			send(t, a, "ping")
			expect(t, b, "ping", want)
			from, to := packets(t, n, "a"), packets(t, n, "b")
			start = time.Now()
			if _, err := from.WriteTo([]byte("ping"), to.LocalAddr()); err != nil {
				t.Fatal(err)
			}
			if _, _, err := to.ReadFrom(make([]byte, 9)); err != nil || time.Since(start) != want {
				t.Errorf("far %v: a datagram took %v (%v), want %v", far, time.Since(start), err, want)
			}
			_, _, _, _ = a.Close(), b.Close(), from.Close(), to.Close()
		}
	})
}

// packets opens a socket on a free port of a host.
func packets(t *testing.T, n *gridtest.Network, host string) net.PacketConn {
	t.Helper()
	pc, err := n.Host(host).ListenPacket(host + ":0")
	if err != nil {
		t.Fatal(err)
	}
	return pc
}

func TestBytesKeepTheirOrderWhenTheDelayShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a, b := pair(t, n)
		n.SetDelay(time.Second)
		send(t, a, "first ")
		n.SetDelay(0)
		send(t, a, "second")
		expect(t, b, "first second", time.Second)
	})
}

func TestACutDoesNotTakeBackWhatArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		n.SetDelay(10 * time.Millisecond)
		a, b := pair(t, n)
		send(t, a, "there")
		time.Sleep(5 * time.Millisecond)
		send(t, a, "on its way")
		time.Sleep(7 * time.Millisecond)
		n.Cut("a", "b")
		expect(t, b, "there", 0)
		silent(t, b)
	})
}

func TestCloseWithUnreadBytesIsAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, gridtest.NewNetwork())
		send(t, a, "never read")
		_ = b.Close()
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v, want a reset", err)
		}
	})
}

func TestRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		start := time.Now()
		ln, _ := n.Host("b").Listen("b:1")
		_ = ln.Close()
		for _, addr := range []string{"b:1", "b:2", "unheard-of:1", "localhost:1"} {
			if _, err := n.Host("a").Dial(t.Context(), addr); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("dial %s: %v, want connection refused", addr, err)
			}
		}
		if time.Since(start) != 0 {
			t.Errorf("took %v", time.Since(start))
		}
	})
}

func TestPortsAndNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := n.Host("a")
		one, err1 := a.Listen("a:0")
		two, err2 := a.Listen("0.0.0.0:0")
		if err1 != nil || err2 != nil || one.Addr().String() == two.Addr().String() {
			t.Fatalf("two free ports: %v %v, %v %v", one, two, err1, err2)
		}
		if _, err := a.Listen(one.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a used port: %v", err)
		}
		if _, err := a.ListenPacket(one.Addr().String()); err != nil {
			t.Errorf("the same port for datagrams: %v", err)
		}
		if _, err := a.Listen("b:0"); err == nil {
			t.Error("a listens on b")
		}
		if _, err := a.Dial(t.Context(), "10.99.99.99:1"); !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Errorf("dial to an unused IP: %v", err)
		}
		ips, err := n.Host("b").LookupHost(t.Context(), "a")
		if err != nil || len(ips) != 1 || ips[0] != a.IP().String() {
			t.Errorf("LookupHost = %v, %v, want %v", ips, err, a.IP())
		}
	})
}

func TestCutHoldsBytesAndDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a, b := pair(t, n)
		send(t, a, "before")
		n.Cut("a", "b")
		send(t, a, "during")
		expect(t, b, "before", 0)
		silent(t, b)

		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := n.Host("a").Dial(ctx, b.LocalAddr().String())
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("dial: %v after %v", err, time.Since(start))
		}
		start = time.Now()
		_, err = n.Host("a").Dial(t.Context(), "b:9")
		if !errors.Is(err, syscall.ETIMEDOUT) || time.Since(start) != 30*time.Second {
			t.Errorf("dial without a deadline: %v after %v", err, time.Since(start))
		}

		time.AfterFunc(5*time.Second, func() { n.Heal("a", "b") })
		expect(t, b, "during", 5*time.Second)
	})
}

func TestHealLetsADialThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		ln, _ := n.Host("b").Listen("b:1")
		n.CutOneWay("b", "a") // the answer is lost
		time.AfterFunc(4*time.Second, n.HealAll)
		start := time.Now()
		conn, err := n.Host("a").Dial(t.Context(), "b:1")
		if err != nil || time.Since(start) != 4*time.Second {
			t.Fatalf("dial: %v after %v", err, time.Since(start))
		}
		_ = conn.Close()
		_ = ln.Close()
	})
}

func TestCutOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a, b := pair(t, n)
		n.CutOneWay("a", "b")
		send(t, a, "lost for now")
		send(t, b, "arrives")
		expect(t, a, "arrives", 0)
		silent(t, b)
		n.Heal("b", "a")
		expect(t, b, "lost for now", 0)
	})
}

func TestCloseIsHeldByACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a, b := pair(t, n)
		n.Cut("a", "b")
		_ = a.Close()
		silent(t, b)
		send(t, b, "into the void")
		n.HealAll()
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("read: %v, want EOF", err)
		}
		if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("write to a stream the peer closed: %v, want a reset", err)
		}
	})
}

func TestCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a, b := pair(t, n)
		old := n.Host("b")
		ln, _ := old.Listen("b:1")
		socket, _ := old.ListenPacket("b:1")
		send(t, b, "last words")
		n.Crash("b")

		expect(t, a, "last words", 0)
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the peer reads: %v", err)
		}
		if _, err := a.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the peer writes: %v", err)
		}
		for name, do := range map[string]func() error{
			"read":   func() error { _, err := b.Read(make([]byte, 1)); return err },
			"accept": func() error { _, err := ln.Accept(); return err },
			"packet": func() error { _, _, err := socket.ReadFrom(make([]byte, 1)); return err },
			"dial":   func() error { _, err := old.Dial(t.Context(), "a:1"); return err },
			"listen": func() error { _, err := old.Listen("b:0"); return err },
		} {
			if err := do(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the crashed process's %s: %v, want net.ErrClosed", name, err)
			}
		}
		if _, err := n.Host("a").Dial(t.Context(), "b:1"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial after the crash: %v", err)
		}

		again, err := n.Host("b").Listen("b:1")
		if err != nil {
			t.Fatal(err)
		}
		if again.Addr().String() != ln.Addr().String() {
			t.Errorf("restarted at %v, was %v", again.Addr(), ln.Addr())
		}
		conn, err := n.Host("a").Dial(t.Context(), "b:1")
		if err != nil {
			t.Fatalf("dial after the restart: %v", err)
		}
		_ = conn.Close()
	})
}

func TestPauseHoldsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a, b := pair(t, n)
		from, _ := n.Host("a").ListenPacket("a:5")
		to, _ := n.Host("b").ListenPacket("b:5")
		n.Pause("b")
		send(t, a, "in")
		send(t, b, "out")
		_, _ = from.WriteTo([]byte("packet in"), to.LocalAddr())
		_, _ = to.WriteTo([]byte("packet out"), from.LocalAddr())
		silent(t, a)
		silent(t, b)
		dialed := make(chan error, 1)
		go func() {
			_, err := n.Host("a").Dial(t.Context(), "b:9")
			dialed <- err
		}()
		synctest.Wait()
		if len(dialed) != 0 {
			t.Errorf("dial to a paused host: %v", <-dialed)
		}
		n.Resume("b")
		expect(t, a, "out", 0)
		expect(t, b, "in", 0)
		if err := <-dialed; !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial after Resume: %v", err)
		}
		buf := make([]byte, 100)
		if k, _, err := to.ReadFrom(buf); err != nil || string(buf[:k]) != "packet in" {
			t.Errorf("packet = %q, %v", buf[:k], err)
		}
		_ = from.SetReadDeadline(time.Now().Add(time.Second))
		if k, _, err := from.ReadFrom(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a paused host sent %q, %v", buf[:k], err)
		}
	})
}

func TestPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a, _ := n.Host("a").ListenPacket("a:5")
		b, _ := n.Host("b").ListenPacket("b:5")
		count := func() (got int) {
			_ = b.SetReadDeadline(time.Now().Add(time.Second))
			for {
				_, from, err := b.ReadFrom(make([]byte, 10))
				if err != nil {
					return got
				}
				if from.String() != a.LocalAddr().String() {
					t.Errorf("from %v, want %v", from, a.LocalAddr())
				}
				got++
			}
		}
		for range 5000 {
			_, _ = a.WriteTo([]byte("x"), b.LocalAddr())
		}
		if got := count(); got != 1024 {
			t.Errorf("%d of 5000 arrived, want 1024", got)
		}
		n.CutOneWay("a", "b")
		_, _ = a.WriteTo([]byte("x"), b.LocalAddr())
		n.HealAll()
		if got := count(); got != 0 {
			t.Errorf("%d packets came through a cut", got)
		}
		n.SetDelay(100 * time.Millisecond)
		start := time.Now()
		_, _ = a.WriteTo([]byte("x"), b.LocalAddr())
		_ = b.SetReadDeadline(time.Time{})
		if _, _, err := b.ReadFrom(make([]byte, 1)); err != nil || time.Since(start) != 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		_ = b.Close()
		if _, err := a.WriteTo([]byte("x"), b.LocalAddr()); err != nil {
			t.Errorf("a packet to an unused address: %v", err)
		}
	})
}

// ticks streams a line a second until the request ends.
func ticks(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	for i := 0; ; i++ {
		_, _ = fmt.Fprintf(w, "%s tick %d\n", r.Proto, i)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Second):
		}
	}
}

func TestClearTextHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		ln, err := n.Host("server").Listen("server:80")
		if err != nil {
			t.Fatal(err)
		}
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		mux := http.NewServeMux()
		mux.HandleFunc("/ticks", ticks)
		mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(append([]byte(r.Proto+" "), body...))
		})
		server := &http.Server{Handler: mux, Protocols: &protocols}
		served := make(chan error, 1)
		go func() { served <- server.Serve(ln) }()

		dials := 0
		transport := &http.Transport{
			Protocols: &protocols,
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				dials++
				return n.Host("client").Dial(ctx, addr)
			},
		}
		client := &http.Client{Transport: transport}

		ctx, cancel := context.WithCancel(t.Context())
		stream := get(ctx, t, client, "http://server:80/ticks", nil)
		lines := newLines(stream.Body)
		for i := range 100 {
			if want := fmt.Sprintf("HTTP/2.0 tick %d", i); lines.next() != want {
				t.Fatalf("got %q, want %q", lines.last, want)
			}
		}
		big := strings.Repeat("x", 1<<20)
		echo := get(t.Context(), t, client, "http://server:80/echo", strings.NewReader(big))
		body, err := io.ReadAll(echo.Body)
		if err != nil || string(body) != "HTTP/2.0 "+big {
			t.Errorf("echo: %d bytes, %v", len(body), err)
		}

		n.Cut("client", "server")
		start := time.Now()
		time.AfterFunc(10*time.Second, n.HealAll)
		lines.next()
		lines.next()
		if took := time.Since(start); took < 10*time.Second {
			t.Errorf("a line came through a cut after %v", took)
		}
		if dials != 1 {
			t.Errorf("%d streams for all calls, want 1", dials)
		}

		cancel()
		_ = stream.Body.Close()
		transport.CloseIdleConnections()
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

func get(ctx context.Context, t *testing.T, client *http.Client, url string, body io.Reader) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

type lines struct {
	r    io.Reader
	last string
}

func newLines(r io.Reader) *lines { return &lines{r: r} }

func (l *lines) next() string {
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := l.r.Read(b); err != nil {
			l.last = err.Error()
			return l.last
		}
		if b[0] == '\n' {
			l.last = string(line)
			return l.last
		}
		line = append(line, b[0])
	}
}
