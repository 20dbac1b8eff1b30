package calls

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// dialled counts the dials of a transport to one host, and what they opened.
type dialled struct {
	begun, under, most, open, mostOpen atomic.Int32
	// answer is called for each dial with its number.
	answer func(ctx context.Context, n int32) (net.Conn, error)
}

func (d *dialled) dial(ctx context.Context, _ string) (net.Conn, error) {
	n := d.begun.Add(1)
	highest(&d.most, d.under.Add(1))
	defer d.under.Add(-1)
	conn, err := d.answer(ctx, n)
	if err != nil {
		return nil, err
	}
	highest(&d.mostOpen, d.open.Add(1))
	return &dialledConn{Conn: conn, d: d}, nil
}

func highest(m *atomic.Int32, n int32) {
	for old := m.Load(); n > old && !m.CompareAndSwap(old, n); old = m.Load() {
	}
}

type dialledConn struct {
	net.Conn
	d    *dialled
	once sync.Once
}

func (c *dialledConn) Close() error {
	c.once.Do(func() { c.d.open.Add(-1) })
	return c.Conn.Close()
}

// swallowed is a dial whose packets nothing answers.
func swallowed(ctx context.Context, _ int32) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// silent is a connection to a host that takes everything and answers nothing.
func silent(context.Context, int32) (net.Conn, error) {
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, far); _ = far.Close() }()
	return near, nil
}

// callAtOnce makes n calls of several kinds that end after d.
func callAtOnce(t *testing.T, h *Pool, n int, d time.Duration) {
	t.Helper()
	paths := []string{wire.PathRenew, wire.PathDirectory, wire.PathAttach, wire.PathCreate}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			if err := h.Call(ctx, "host:1", paths[i%len(paths)], wire.OpenRequest{}, &wire.Done{}); err == nil {
				t.Error("a call to a silent host was answered")
			}
		})
	}
	all.Wait()
}

// TestDialsAreBounded: thousands of calls with short deadlines, to a host that swallows or
// that accepts connections and never answers, start few dials, one at a time, have few
// concurrent connections, and leave none behind.
func TestDialsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(context.Context, int32) (net.Conn, error)
		begun  int32
	}{
		"swallows": {swallowed, 14/2 + 4}, // one in each two seconds, and those that wait for their turn
		"silent":   {silent, 1},           // no time-out closes a connection
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &dialled{answer: c.answer}
				h := NewPool(d.dial, nil)
				began := time.Now()
				for time.Since(began) < 14*time.Second {
					callAtOnce(t, h, 500, time.Millisecond)
					callAtOnce(t, h, 100, time.Second)
				}
				t.Logf("%d dials, %d concurrent; %d concurrent connections", d.begun.Load(), d.most.Load(), d.mostOpen.Load())
				if d.begun.Load() > c.begun || d.most.Load() > 1 || d.mostOpen.Load() > 4 {
					t.Errorf("%d dials, want at most %d; %d concurrent; %d concurrent connections",
						d.begun.Load(), c.begun, d.most.Load(), d.mostOpen.Load())
				}
				time.Sleep(4*dialTimeout + time.Second)
				if d.under.Load() != 0 {
					t.Errorf("%d dials are left behind", d.under.Load())
				}
				h.Close()
				time.Sleep(time.Minute)
				if d.open.Load() != 0 {
					t.Errorf("%d connections are left behind", d.open.Load())
				}
			})
		})
	}
}
