package main

import (
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/security"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// world is one grid and its users.
type world struct {
	network *gridtest.Network
	traffic traffic
	renewed atomic.Int64 // calls that renew
	size    int
	window  time.Duration
	members map[string]*grid.Member
	users   []*client.Client
	dirs    string                     // holds the members' data directories; "" = they have none
	voters  int                        // 0 = the default
	zone    func(member string) string // returns a member's zone
}

// startWorld forms a grid with one backup per partition, and waits until all its replicas are in
// sync. A window of 0 is the grid's default.
func startWorld(ctx context.Context, size int, window time.Duration) (*world, error) {
	return startOn(ctx, size, window, "")
}

// startOn is startWorld with data directories in dirs.
func startOn(ctx context.Context, size int, window time.Duration, dirs string) (*world, error) {
	w := newWorld(size)
	w.window, w.dirs = window, dirs
	return w, w.start(ctx)
}

// newWorld returns a world without members.
func newWorld(size int) *world {
	return &world{network: gridtest.NewNetwork(), size: size, members: map[string]*grid.Member{},
		zone: func(string) string { return "" }}
}

// start forms the grid, and waits until all its replicas are in sync.
func (w *world) start(ctx context.Context) error {
	err := w.startAll(ctx)
	if err == nil {
		err = w.inSync(ctx)
	}
	if err != nil {
		w.end()
	}
	return err
}

// startAll starts, or restarts, all members concurrently.
func (w *world) startAll(ctx context.Context) error {
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed []error
	for i := range w.size {
		name := memberName(i)
		all.Go(func() {
			m, err := grid.Start(ctx, w.config(name))
			mu.Lock()
			defer mu.Unlock()
			w.members[name], failed = m, append(failed, err)
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func memberName(i int) string { return fmt.Sprintf("m%d", i+1) }

func (w *world) config(name string) grid.Config {
	cfg := grid.Config{
		GossipAddr: name + ":7946", RaftAddr: name + ":7947", APIAddr: name + ":7948",
		Security: &security.Config{Insecure: true},
		Expect:   w.size, Backups: 1, FirstLife: true, Window: w.window, Voters: w.voters, Zone: w.zone(name),
		Network: countedHost{w.network.Host(name), &w.traffic},
	}
	if w.dirs != "" {
		cfg.DataDir = filepath.Join(w.dirs, name)
	}
	for i := range min(w.size, 5) {
		cfg.Join = append(cfg.Join, memberName(i)+":7946")
	}
	return cfg
}

// join starts one more member, and waits until it has its share of all tables.
func (w *world) join(ctx context.Context, name string) error {
	m, err := grid.Start(ctx, w.config(name))
	if err != nil {
		return err
	}
	w.members[name] = m
	return w.inSync(ctx)
}

// inSync waits until every member is ready.
func (w *world) inSync(ctx context.Context) error {
	return poll(ctx, func() bool {
		for _, m := range w.members {
			if !m.Ready() {
				return false
			}
		}
		return true
	})
}

// poll waits until ok; readiness sends no event.
func poll(ctx context.Context, ok func() bool) error {
	for !ok() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// client returns a new client on its own host.
func (w *world) client(ctx context.Context, host string) (*client.Client, error) {
	h := countedHost{w.network.Host(host), &w.traffic}
	cfg := calls.With(client.Config{}, calls.Parts{Transport: countedCalls{calls.NewPool(h.Dial, nil), &w.renewed}})
	for name := range w.members {
		cfg.Addrs = append(cfg.Addrs, name+":7948")
	}
	c, err := client.Dial(ctx, cfg)
	if err == nil {
		w.users = append(w.users, c)
	}
	return c, err
}

// crash stops a member's machine.
func (w *world) crash(name string) {
	w.network.Crash(name)
	_ = w.members[name].Close()
	delete(w.members, name)
}

// ownerOf returns the member that owns a name.
func (w *world) ownerOf(sequencer string) string {
	for _, m := range w.members {
		owner := m.Status().OwnerOf(sequencer)
		for name, m := range w.members {
			if m.Status().Answering == owner {
				return name
			}
		}
	}
	return ""
}

// end closes everything.
func (w *world) end() {
	var all sync.WaitGroup
	for _, c := range w.users {
		all.Go(func() { _ = c.Close() })
	}
	all.Wait()
	for _, m := range w.members {
		if m != nil {
			all.Go(func() { _ = m.Close() })
		}
	}
	all.Wait()
}

// heap returns the size of the process's heap in use.
func heap() float64 {
	runtime.GC()
	runtime.GC() // frees objects that finalizers and pools released in the first run
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// settle waits until the heap stops shrinking: earlier objects are freed gradually.
func settle() {
	for last, now := math.Inf(1), heap(); now < last*0.99; last, now = now, heap() {
		time.Sleep(2 * time.Second)
	}
}

// idle is the cost per second for a grid without calls.
type idle struct{ bytes, packets, renewals, cores float64 }

func (w *world) observe() idle {
	bytes, packets, renewals, burnt, began := w.traffic.bytes.Load(), w.traffic.packets.Load(), w.renewed.Load(),
		cpu(), time.Now()
	time.Sleep(*observed)
	seconds := time.Since(began).Seconds()
	return idle{
		bytes:    float64(w.traffic.bytes.Load()-bytes) / seconds,
		packets:  float64(w.traffic.packets.Load()-packets) / seconds,
		renewals: float64(w.renewed.Load()-renewals) / seconds,
		cores:    (cpu() - burnt).Seconds() / seconds,
	}
}

// cpu returns the processor time used by this process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
