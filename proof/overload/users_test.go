package overload_test

import (
	"context"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// users are many clients, each with some handles, and what they do on the network.
type users struct {
	secured  string                  // directory with certificates; "" = clear text
	issuedTo []*security.Credentials // of clients, sharing of them each
	clients  []*client.Client
	handles  []*sequencer.Sequencer
	issued   []uint64 // by handle, at the last look

	dials, open     atomic.Int64
	renewed, failed atomic.Int64 // renewals
	lookUps         atomic.Int64 // of the directory
}

// dialer opens connections of one host.
type dialer func(ctx context.Context, addr string) (net.Conn, error)

// counted is a dialer whose connections are counted.
func (u *users) counted(dial dialer) dialer {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		u.dials.Add(1)
		conn, err := dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		u.open.Add(1)
		return &countedConn{Conn: conn, u: u}, nil
	}
}

type countedConn struct {
	net.Conn
	u    *users
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.u.open.Add(-1) })
	return c.Conn.Close()
}

// userCalls counts the calls of a transport.
type userCalls struct {
	*calls.Pool
	u *users
}

// Call implements calls.Transport.
func (t userCalls) Call(ctx context.Context, addr, path string, in, out any) error {
	err := t.Pool.Call(ctx, addr, path, in, out)
	switch {
	case path == wire.PathDirectory:
		t.u.lookUps.Add(1)
	case path == wire.PathRenew && err == nil:
		t.u.renewed.Add(1)
	case path == wire.PathRenew:
		t.u.failed.Add(1)
	}
	return err
}

// sharing is how many clients have one certificate. A member takes 512 connections of each.
const sharing = 64

// issue makes certificates for n clients.
func (u *users) issue(t *testing.T, n int) {
	t.Helper()
	if u.secured == "" {
		return
	}
	by, err := authority.Open(u.secured)
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	for i := range (n + sharing - 1) / sharing {
		dir := filepath.Join(parent, fmt.Sprint("service-", i))
		if err := by.Issue(authority.Request{Name: fmt.Sprintf("service-%d-%d", os.Getpid(), i), Role: security.Holder}, dir,
			time.Now()); err != nil {
			t.Fatal(err)
		}
		c, err := security.Load(security.Config{Dir: dir, Role: security.Holder}, security.Holder)
		if err != nil {
			t.Fatal(err)
		}
		u.issuedTo = append(u.issuedTo, c)
	}
}

// credentials returns those of one client, nil for clear text.
func (u *users) credentials(i int) *security.Credentials {
	if u.secured == "" {
		return nil
	}
	return u.issuedTo[i/sharing]
}

// add starts n clients by dialers of their own, each with handles of the names given, some at
// the same time.
func (u *users) add(t *testing.T, n int, addrs []string, dial func(i int) dialer, names func(i int) []string) {
	t.Helper()
	u.issue(t, n)
	var mu sync.Mutex
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, *together) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				http := calls.NewPool(u.counted(dial(i)), u.credentials(i))
				c, err := client.Dial(ctx, calls.With(client.Config{Addrs: addrs}, calls.Parts{Transport: userCalls{http, u}}))
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				t.Cleanup(func() { _ = c.Close(); http.Close() })
				for _, name := range names(i) {
					h, err := c.CreateSequencer(ctx, name, sequencer.Config{Nodes: 8192})
					if err != nil {
						t.Error(err)
						cancel()
						return
					}
					mu.Lock()
					u.handles = append(u.handles, h)
					mu.Unlock()
				}
				cancel()
				mu.Lock()
				u.clients = append(u.clients, c)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	u.issued = make([]uint64, len(u.handles))
}

// issuing returns how many handles have an ID now, or within a moment.
func (u *users) issuing(t *testing.T) (n int) {
	t.Helper()
	var working atomic.Int64
	var all sync.WaitGroup
	for _, h := range u.handles {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := h.Next(ctx); err == nil {
				working.Add(1)
			}
		})
	}
	all.Wait()
	return int(working.Load())
}

// state is the figures at one moment.
type state struct {
	at                              time.Time
	dials, renewed, failed, lookUps int64
	open                            int64
	goroutines                      int
	heap                            uint64 // MB
}

func (u *users) state() state {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return state{
		at: time.Now(), dials: u.dials.Load(), renewed: u.renewed.Load(), failed: u.failed.Load(), lookUps: u.lookUps.Load(),
		open: u.open.Load(), goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc >> 20,
	}
}

// watch logs the figures of each step of a time, and returns those at its end.
func (u *users) watch(t *testing.T, what string, d, step time.Duration) state {
	t.Helper()
	last := u.state()
	began := time.Now()
	for time.Since(began) < d {
		time.Sleep(min(step, d-time.Since(began)))
		now := u.state()
		seconds := now.at.Sub(last.at).Seconds()
		t.Logf("%-9s %6.1f s: %6.0f good renewals/s, %5.0f failed/s, %5.0f look-ups/s, %6d dials in all, %5d open, %6d "+
			"goroutines, %5d MB",
			what, now.at.Sub(began).Seconds(), float64(now.renewed-last.renewed)/seconds,
			float64(now.failed-last.failed)/seconds,
			float64(now.lookUps-last.lookUps)/seconds, now.dials, now.open, now.goroutines, now.heap)
		last = now
	}
	return last
}

// awaitAll waits until every handle issues IDs, and returns how long that took.
func (u *users) awaitAll(t *testing.T, limit time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for n := u.issuing(t); n < len(u.handles); n = u.issuing(t) {
		if time.Since(began) > limit {
			t.Fatalf("%d of %d handles issue IDs %v after the overload", n, len(u.handles), limit)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Since(began)
}
