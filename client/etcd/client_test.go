package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// opened returns a client of package store over etcd.
func opened(t *testing.T, cli *clientv3.Client, cfg etcd.Config, client store.Config) *store.Client {
	t.Helper()
	c, err := store.Open(t.Context(), etcd.New(cli, cfg), client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ledger has every ID that handles issued.
type ledger struct {
	t      *testing.T
	mu     sync.Mutex
	issued map[sequencer.ID]bool
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	return &ledger{t: t, issued: map[sequencer.ID]bool{}}
}

func (l *ledger) add(id sequencer.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.issued[id] {
		l.t.Errorf("the ID %d was issued twice", id)
	}
	l.issued[id] = true
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.issued)
}

// issue issues IDs until ctx ends. Waits are no failures.
func (l *ledger) issue(ctx context.Context, h *sequencer.Sequencer) {
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		id, err := h.Next(call)
		cancel()
		switch {
		case err == nil:
			l.add(id)
		case !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled):
			l.t.Errorf("no ID: %v", err)
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// TestOutages: etcd is killed for two windows, restarted, compacted and defragmented, several
// times, while clients issue IDs and others come and go. No ID is issued twice, and every
// handle continues.
func TestOutages(t *testing.T) {
	const window = 2 * time.Second
	srv := ownEtcd(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	l := newLedger(t)
	issuing, end := context.WithCancel(ctx)
	defer end()
	var running sync.WaitGroup
	handles := make([]*sequencer.Sequencer, 3)
	for i := range handles {
		c := opened(t, connect(t, srv), etcd.Config{}, store.Config{Pool: 8, Window: window})
		h, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		handles[i] = h
		running.Go(func() { l.issue(issuing, h) })
	}
	coming := opened(t, connect(t, srv), etcd.Config{}, store.Config{Pool: 8, Window: window, Task: "comes and goes"})
	var went atomic.Int64
	running.Go(func() { // attaches and returns a node all the time
		h, err := coming.OpenSequencer(issuing, "orders")
		for issuing.Err() == nil {
			if err == nil {
				var id sequencer.ID
				if id, err = h.Next(issuing); err == nil {
					l.add(id)
					went.Add(1)
				}
				call, cancel := context.WithTimeout(issuing, time.Second)
				_ = h.DetachLogicalNode(call)
				cancel()
			}
			call, cancel := context.WithTimeout(issuing, time.Second)
			err = h.AttachLogicalNode(call)
			cancel()
			time.Sleep(5 * time.Millisecond)
		}
	})
	admin := connect(t, srv)
	for range 2 {
		await(t, 30*time.Second, "more of those that come and go", func() bool { return went.Load() > 20 })
		srv.Kill()
		time.Sleep(2 * window)
		if err := srv.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		before := l.count()
		went.Store(0)
		await(t, 30*time.Second, "more IDs after a restart", func() bool { return l.count() > before+100 })
		now, err := admin.Get(ctx, "/")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := admin.Compact(ctx, now.Header.Revision); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.Defragment(ctx, srv.Addr); err != nil {
			t.Fatal(err)
		}
	}
	end()
	running.Wait()
	for _, h := range handles {
		if _, err := h.Next(ctx); err != nil {
			t.Errorf("a handle did not continue: %v", err)
		}
	}
	t.Logf("%d IDs, no two equal", l.count())
}

// TestRevokedLeaseIsALoss (E8): a holder whose lease an operator revokes hears of it, calls
// OnLost, and takes a node again.
func TestRevokedLeaseIsALoss(t *testing.T) {
	cli, prefix := connect(t, anEtcd(t)), prefixOf(t)
	lost := make(chan store.Loss, 10)
	c := opened(t, cli, etcd.Config{Prefix: prefix},
		store.Config{Window: 9 * time.Second, OnLost: func(l store.Loss) { lost <- l }})
	h, err := c.CreateSequencer(t.Context(), "default", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	live, err := cli.Get(t.Context(), prefix+"workers/live/0")
	if err != nil || len(live.Kvs) != 1 {
		t.Fatal(live, err)
	}
	time.Sleep(300 * time.Millisecond) // a change right after the own write counts as that
	if _, err := cli.Revoke(t.Context(), clientv3.LeaseID(live.Kvs[0].Lease)); err != nil {
		t.Fatal(err)
	}
	select {
	case loss := <-lost:
		if loss.Sequencer != "default" || loss.Node != 0 || loss.Version != 1 ||
			!errors.Is(loss.Cause, sequencer.ErrDetached) {
			t.Errorf("lost %+v", loss)
		}
	case <-time.After(2 * time.Second): // the next renewal is 2.4 s away at least
		t.Error("no loss is reported")
	}
	l := newLedger(t)
	ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	l.issue(ctx, h)
	if l.count() == 0 {
		t.Error("no ID after the loss")
	}
}

// TestDestroyIsHeard: other clients' handles end without a renewal in between.
func TestDestroyIsHeard(t *testing.T) {
	cli, cfg := connect(t, anEtcd(t)), etcd.Config{Prefix: prefixOf(t)}
	var handles []*sequencer.Sequencer
	for range 2 {
		h, err := opened(t, cli, cfg, store.Config{Window: time.Minute}).CreateSequencer(t.Context(), "orders",
			sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, h)
	}
	if err := handles[0].Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, 5*time.Second, "destroyed", func() bool { return handles[1].State() == sequencer.Destroyed })
	again, err := opened(t, cli, cfg, store.Config{Window: time.Minute}).CreateSequencer(t.Context(), "orders",
		sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Next(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNoFreeNode (E4): a create that finds every node taken waits until its context ends.
func TestNoFreeNode(t *testing.T) {
	cli, cfg := connect(t, anEtcd(t)), etcd.Config{Prefix: prefixOf(t)}
	first := opened(t, cli, cfg, store.Config{Pool: 1})
	if _, err := first.CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	_, err := opened(t, cli, cfg, store.Config{Pool: 1}).CreateSequencer(ctx, "orders", sequencer.Config{})
	if !errors.Is(err, sequencer.ErrNoFreeNode) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second holder of one node: %v", err)
	}
}

// TestMixedFleet: clients and workers of the original come and go over the same nodes, end
// without a word, some clocks are off, and an operator revokes leases, after which a client
// uses the rest of its grant. No node has both at any timestamp. The workers' periods are a
// tenth of the original's, and the window is too.
func TestMixedFleet(t *testing.T) {
	const nodes, ours, theirs = 4, 3, 3
	cli, prefix := connect(t, anEtcd(t)), prefixOf(t)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	cfg := etcd.Config{Prefix: prefix, CompatMixed: true}
	client := func(ahead time.Duration) store.Config {
		return store.Config{Pool: nodes, Window: time.Second, AcquireMaxDelay: 300 * time.Millisecond,
			Clock: func() time.Time { return time.Now().Add(ahead) }}
	}
	opening, err := opened(t, cli, cfg, client(0)).CreateSequencer(ctx, "default", sequencer.Config{})
	if err == nil {
		err = opening.DetachLogicalNode(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	type use struct {
		node int
		at   clustertime.Tick
	}
	var mu sync.Mutex
	used, issued := map[use]string{}, map[bool]int{}
	add := func(node int, at clustertime.Tick, by string, original bool) {
		mu.Lock()
		defer mu.Unlock()
		if other, is := used[use{node, at}]; is && other != by {
			t.Errorf("node %d was used at %d by %s and by %s", node, at, other, by)
		}
		used[use{node, at}] = by
		issued[original]++
	}
	ahead := func(i int) time.Duration { return time.Duration(i-1) * 300 * time.Millisecond }
	var running sync.WaitGroup
	for i := range ours {
		running.Go(func() {
			for life := 0; ctx.Err() == nil; life++ {
				by := fmt.Sprintf("client %d.%d", i, life)
				c, err := store.Open(ctx, etcd.New(cli, cfg), client(ahead(i)))
				if err != nil {
					return
				}
				h, err := c.CreateSequencer(ctx, "default", sequencer.Config{})
				for end := time.Now().Add(time.Duration(1+rand.IntN(3)) * time.Second); err == nil &&
					time.Now().Before(end); time.Sleep(time.Millisecond) {
					var id sequencer.ID
					if id, err = h.Next(ctx); err == nil {
						p := h.Definition().Decompose(id)
						add(int(p.Node), clustertime.Tick(p.Time.UnixMilli()), by, false)
					}
				}
				if rand.IntN(2) == 0 {
					_ = c.Leave(ctx)
				}
				_ = c.Close()
			}
		})
	}
	for i := range theirs {
		running.Go(func() {
			for life := 0; ctx.Err() == nil; life++ {
				by := fmt.Sprintf("worker %d.%d", i, life)
				w := &original{
					cli: cli, prefix: prefix, ttl: 1, guard: 300 * time.Millisecond,
					clock: func() time.Time { return time.Now().Add(ahead(i)) },
				}
				if err := w.start(ctx, nodes); err != nil {
					time.Sleep(100 * time.Millisecond)
					continue
				}
				reported := time.Now()
				for end := time.Now().Add(time.Duration(1+rand.IntN(3)) * time.Second); !w.ended.Load() && time.Now().Before(end) &&
					ctx.Err() == nil; time.Sleep(time.Millisecond) {
					add(w.node, clustertime.Tick(w.use()), by, true)
					if time.Since(reported) > 100*time.Millisecond {
						_ = w.report(ctx)
						reported = time.Now()
					}
				}
				if rand.IntN(2) == 0 {
					w.stop(ctx)
				}
			}
		})
	}
	running.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(200 * time.Millisecond)
			live, err := cli.Get(ctx, prefix+"workers/live/", clientv3.WithPrefix())
			if err != nil || len(live.Kvs) == 0 {
				continue
			}
			chosen := live.Kvs[rand.IntN(len(live.Kvs))]
			// Nothing in etcd shows the IDs of a worker of the original before its first
			// report, so it must not lose its node until then.
			if claimed, err := strconv.ParseInt(string(chosen.Value), 10, 64); err == nil &&
				time.Since(time.UnixMilli(claimed)) > time.Second {
				_, _ = cli.Revoke(ctx, clientv3.LeaseID(chosen.Lease))
			}
		}
	})
	running.Wait()
	if issued[false] == 0 || issued[true] == 0 {
		t.Errorf("clients issued %d, workers of the original %d", issued[false], issued[true])
	}
	t.Logf("clients issued %d, workers of the original %d", issued[false], issued[true])
}

// TestClockAheadTakesNoLiveNode: a client whose clock is an hour ahead finds every record
// expired. It cannot claim one whose holder is alive, and does not ask for it without a pause.
func TestClockAheadTakesNoLiveNode(t *testing.T) {
	var calls atomic.Int64
	count := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption) error {
		calls.Add(1)
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	counted, err := anEtcd(t).Client(
		clientv3.Config{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(count)}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = counted.Close() }()
	cfg := etcd.Config{Prefix: prefixOf(t)}
	h, err := opened(t, connect(t, anEtcd(t)), cfg, store.Config{Pool: 1}).CreateSequencer(t.Context(), "orders",
		sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ahead := opened(t, counted, cfg, store.Config{Pool: 1, Clock: func() time.Time { return time.Now().Add(time.Hour) }})
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	before := calls.Load()
	if _, err := ahead.CreateSequencer(ctx, "orders", sequencer.Config{}); !errors.Is(err, sequencer.ErrNoFreeNode) {
		t.Errorf("a client whose clock is ahead: %v", err)
	}
	if made := calls.Load() - before; made > 100 {
		t.Errorf("it made %d calls in 2 s", made)
	}
	if _, err := h.Next(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestReportFollowsUse (E7): last_reported_time has the time of the last ID after the next
// renewal.
func TestReportFollowsUse(t *testing.T) {
	cli, prefix := connect(t, anEtcd(t)), prefixOf(t)
	h, err := opened(t, cli, etcd.Config{Prefix: prefix}, store.Config{Window: time.Second}).CreateSequencer(t.Context(),
		"default", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := h.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := strconv.FormatInt(h.Definition().Decompose(id).Time.UnixMilli(), 10)
	await(t, 3*time.Second, "reported",
		func() bool { return value(t, cli, prefix+"workers/last_reported_time/0") == want })
}
