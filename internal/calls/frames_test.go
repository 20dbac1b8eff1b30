package calls

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/sequencer"
)

// framing is a dial to a member that speaks frames, and answers each call with a handler. Its
// connections end with ctx.
func framing(ctx context.Context, handler frames.Handler) func(context.Context, int32) (net.Conn, error) {
	serve := framed(ctx, handler)
	return func(context.Context, int32) (net.Conn, error) {
		near, far := net.Pipe()
		go serve(far)
		return near, nil
	}
}

// framed returns a member's end of connections, which it upgrades and serves in frames until ctx ends.
func framed(ctx context.Context, handler frames.Handler) (serve func(net.Conn)) {
	workers := &frames.Workers{}
	context.AfterFunc(ctx, workers.Close)
	return func(conn net.Conn) {
		defer conn.Close()
		in := bufio.NewReader(conn)
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+frame.Protocol+
			"\r\n"+wire.HeaderRelease+": "+wire.FormatRelease(wire.OwnRelease())+"\r\n\r\n")
		busy := func() (int, []byte) { return http.StatusServiceUnavailable, nil }
		_ = frames.Server{Workers: workers, Busy: busy, Handler: handler}.Serve(ctx, conn, in)
	}
}

// done answers a call.
func done(t *testing.T) frames.Handler {
	answer := encoded(t, wire.Done{})
	return func(w *frames.Writer, _ *frames.Request) { _, _ = io.WriteString(w, answer) }
}

// callHost makes a call of the directory, which waits for no turn.
func callHost(ctx context.Context, h *Pool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return h.Call(ctx, "host:1", wire.PathDirectory, wire.DirectoryRequest{}, &wire.Done{})
}

// TestCallsWaitForOneDial: calls that begin while a connection is being opened share it.
func TestCallsWaitForOneDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := framing(t.Context(), done(t))
		d := &dialled{answer: func(ctx context.Context, n int32) (net.Conn, error) {
			time.Sleep(time.Second)
			return open(ctx, n)
		}}
		h := NewPool(d.dial, nil)
		defer h.Close()
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				if err := callHost(t.Context(), h); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := d.begun.Load(); n != 1 {
			t.Errorf("%d dials", n)
		}
	})
}

// TestRefusedDialsArePaced: calls without end to an address where nothing listens dial a few
// times in a second, and one is answered soon after a member listens.
func TestRefusedDialsArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var listens atomic.Bool
		open := framing(t.Context(), done(t))
		d := &dialled{answer: func(ctx context.Context, n int32) (net.Conn, error) {
			if listens.Load() {
				return open(ctx, n)
			}
			return nil, errors.New("refused")
		}}
		h := NewPool(d.dial, nil)
		defer h.Close()
		for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(time.Millisecond) {
			if err := callHost(t.Context(), h); !errors.Is(err, sequencer.ErrUnavailable) {
				t.Fatalf("a call ends with %v", err)
			}
		}
		// The pause is backoffMax/2 on average.
		if n, most := d.begun.Load(), int32(2*20*time.Second/(backoffMax/2)); n > most {
			t.Errorf("%d dials in 20 s, more than %d", n, most)
		}
		listens.Store(true)
		began := time.Now()
		for callHost(t.Context(), h) != nil {
		}
		if took := time.Since(began); took > 2*backoffMax {
			t.Errorf("the first answer after %v", took)
		}
	})
}

// TestEndedConnectionIsDialedAgain: a call that begins after its connection has ended is made on
// the next, and one in progress ends with an error.
func TestEndedConnectionIsDialedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := done(t)
		d := &dialled{answer: framing(t.Context(), func(w *frames.Writer, r *frames.Request) {
			if r.Head.Path == wire.PathOpen {
				w.Abort(io.ErrUnexpectedEOF)
				return
			}
			answer(w, r)
		})}
		h := NewPool(d.dial, nil)
		defer h.Close()
		for range 5 {
			if err := callHost(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			if err := h.Call(t.Context(), "host:1", wire.PathOpen, wire.OpenRequest{}, &wire.Done{}); !errors.Is(err,
				sequencer.ErrUnavailable) {
				t.Fatalf("a call on a connection that ended: %v", err)
			}
		}
		if n := d.begun.Load(); n != 5 {
			t.Errorf("%d dials, want 5", n)
		}
	})
}

// TestBrokenConnectionIsReported: once, and not if this end has closed it.
func TestBrokenConnectionIsReported(t *testing.T) {
	for _, closes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			dial := framing(ctx, done(t))
			var told []string
			h := NewPool(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx, 1) }, nil)
			h.Broken = func(addr string) { told = append(told, addr) }
			if err := callHost(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			if synctest.Wait(); len(told) != 0 {
				t.Errorf("told of %q before anything ended", told)
			}
			want := []string{"host:1"}
			if closes {
				h.Close()
				want = nil
			} else {
				end()
			}
			if synctest.Wait(); !slices.Equal(told, want) {
				t.Errorf("closed here %v: told of %q, want %q", closes, told, want)
			}
		})
	}
}

// addressed is a connection to an address.
type addressed struct {
	net.Conn
	remote string
}

func (c addressed) RemoteAddr() net.Addr { return address(c.remote) }

// address is the text of one.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// TestNameAndAddressShareAConnection: a member is called by its name and by the IP address that
// this leads to over one connection. Members behind a proxy have one each.
func TestNameAndAddressShareAConnection(t *testing.T) {
	calls := []string{"m1:1", "10.0.0.1:1", "m2:1", "10.0.0.2:1", "m1:1", "m2:1", "10.0.0.1:1"}
	for what, test := range map[string]struct {
		remote map[string]string
		want   int32
	}{
		"names": {map[string]string{"m1:1": "10.0.0.1:1", "m2:1": "10.0.0.2:1"}, 2},
		"a proxy": {map[string]string{"m1:1": "proxy:1", "m2:1": "proxy:1", "10.0.0.1:1": "proxy:1", "10.0.0.2:1": "proxy:1"},
			4},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				open := framing(t.Context(), done(t))
				var dials atomic.Int32
				var conns []net.Conn
				h := NewPool(func(ctx context.Context, addr string) (net.Conn, error) {
					dials.Add(1)
					conn, err := open(ctx, 0)
					conns = append(conns, conn)
					return addressed{conn, test.remote[addr]}, err
				}, nil)
				defer h.Close()
				for _, addr := range calls {
					if err := h.Call(t.Context(), addr, wire.PathDirectory, wire.DirectoryRequest{}, &wire.Done{}); err != nil {
						t.Fatalf("%s: %v", addr, err)
					}
				}
				if n := dials.Load(); n != test.want {
					t.Errorf("%d dials, want %d", n, test.want)
				}
				for _, conn := range conns {
					_ = conn.Close()
				}
				synctest.Wait()
				for _, addr := range []string{"10.0.0.1:1", "m1:1"} { // the other way round
					if err := h.Call(t.Context(), addr, wire.PathDirectory, wire.DirectoryRequest{}, &wire.Done{}); err != nil {
						t.Fatalf("%s after the end of the connections: %v", addr, err)
					}
				}
				if n, want := dials.Load(), test.want+test.want/2; n != want {
					t.Errorf("%d dials after the end of the connections, want %d", n, want)
				}
			})
		})
	}
}

// TestCloseEndsDialsInProgress: no connection is left of a transport that was closed while one was
// being opened.
func TestCloseEndsDialsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := framing(t.Context(), done(t))
		d := &dialled{answer: func(ctx context.Context, n int32) (net.Conn, error) {
			time.Sleep(time.Second)
			return open(ctx, n)
		}}
		h := NewPool(d.dial, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if err := callHost(ctx, h); !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("a call that ended during the dial: %v", err)
		}
		h.Close()
		time.Sleep(2 * time.Second)
		if n := d.open.Load(); n != 0 || d.begun.Load() != 1 {
			t.Errorf("%d connections are left of %d", n, d.begun.Load())
		}
	})
}

// TestCloseEndsAConnectionJustOpened: the attempt has succeeded, and has not published its connection.
func TestCloseEndsAConnectionJustOpened(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	var lines framedLines
	a := lines.attemptFor("host:1", func(context.Context, string, time.Duration) *attempt {
		lines.close()
		return &attempt{conn: frames.NewClient(near, near, nil)}
	})
	<-a.done
	select {
	case <-a.conn.Done():
	case <-time.After(10 * time.Second):
		t.Error("the connection is open")
	}
}

// TestRefusedUpgrade: a member that ends connections, or that has no place for one more, and a server
// that is none, get no other kind of connection; the error is the member's, or names the remedy.
func TestRefusedUpgrade(t *testing.T) {
	full := wire.ErrorOf(failure.Errorf(sequencer.ErrUnavailable, "grid: too many connections"), 0)
	for what, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"ends": {func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
		}, "give Security (--security-dir)"},
		"full":      {answers(http.StatusServiceUnavailable, encoded(t, full)), "too many connections"},
		"not found": {http.NotFound, "HTTP status 404 instead of an upgrade"},
		"other protocol": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Upgrade", "other")
			w.Header().Set("Connection", "Upgrade")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}, "check that this is a snowgrid API address"},
	} {
		t.Run(what, func(t *testing.T) {
			var upgrades atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if upgrades.Add(1); r.URL.Path != frame.Path {
					t.Errorf("a request of %s", r.URL.Path)
				}
				test.answer(w, r)
			}))
			defer server.Close()
			h := NewPool(dialTCP, nil)
			defer h.Close()
			for range 3 {
				err := h.Call(t.Context(), server.Listener.Addr().String(), wire.PathDirectory, wire.DirectoryRequest{},
					&wire.Done{})
				if !errors.Is(err, sequencer.ErrUnavailable) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v", err)
				}
			}
			if n := upgrades.Load(); n != 3 {
				t.Errorf("%d upgrades", n)
			}
		})
	}
}
