package mixed_test

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

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/client/etcd/mixed"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestRevokedLeaseIsALoss (E8): a holder whose lease an operator revokes attaches again
// after a call of OnLost.
func TestRevokedLeaseIsALoss(t *testing.T) {
	cli, prefix := etcdtest.Connect(t, etcdtest.Shared(t)), etcdtest.Prefix(t)
	lost := make(chan store.Loss, 10)
	c := etcdtest.Opened(t, mixedStore, cli, prefix,
		store.Config{Window: 9 * time.Second, OnLost: func(l store.Loss) { lost <- l }})
	h, err := c.CreateSequencer(t.Context(), "default", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	live, err := cli.Get(t.Context(), prefix+"workers/live/0")
	if err != nil || len(live.Kvs) != 1 {
		t.Fatal(live, err)
	}
	time.Sleep(300 * time.Millisecond) // a client ignores changes for 200 ms after its own write
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
	l.Issue(ctx, h)
	if l.Count() == 0 {
		t.Error("no ID after the loss")
	}
}

// TestMixedFleet: clients and workers come and go over the same nodes, end
// without a word, some clocks are off, and an operator revokes leases, after which a client
// uses the rest of its grant. No node has both at any timestamp. The workers' periods are a
// tenth of the original's, and the window is too.
func TestMixedFleet(t *testing.T) {
	const nodes, ours, theirs = 4, 3, 3
	cli, prefix := etcdtest.Connect(t, etcdtest.Shared(t)), etcdtest.Prefix(t)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	cfg := mixed.Config{Prefix: prefix}
	client := func(ahead time.Duration) store.Config {
		return store.Config{Pool: nodes, Window: time.Second, AcquireMaxDelay: 300 * time.Millisecond,
			Clock: func() time.Time { return time.Now().Add(ahead) }}
	}
	c := etcdtest.Opened(t, mixedStore, cli, prefix, client(0))
	opening, err := c.CreateSequencer(ctx, mixed.Sequencer, sequencer.Config{})
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
				c, err := store.Open(ctx, mixed.New(cli, cfg), client(ahead(i)))
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
			// Nothing in etcd shows the IDs of a worker before its first
			// report, so it must not lose its node until then.
			if claimed, err := strconv.ParseInt(string(chosen.Value), 10, 64); err == nil &&
				time.Since(time.UnixMilli(claimed)) > time.Second {
				_, _ = cli.Revoke(ctx, clientv3.LeaseID(chosen.Lease))
			}
		}
	})
	running.Wait()
	if issued[false] == 0 || issued[true] == 0 {
		t.Errorf("clients issued %d, workers %d", issued[false], issued[true])
	}
	t.Logf("clients issued %d, workers %d", issued[false], issued[true])
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
	counted, err := etcdtest.Shared(t).Client(
		clientv3.Config{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(count)}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = counted.Close() }()
	prefix := etcdtest.Prefix(t)
	h, err := etcdtest.Opened(t, mixedStore, etcdtest.Connect(t, etcdtest.Shared(t)), prefix,
		store.Config{Pool: 1}).CreateSequencer(t.Context(), mixed.Sequencer, sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ahead := etcdtest.Opened(t, mixedStore, counted, prefix,
		store.Config{Pool: 1, Clock: func() time.Time { return time.Now().Add(time.Hour) }})
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	before := calls.Load()
	_, err = ahead.CreateSequencer(ctx, mixed.Sequencer, sequencer.Config{})
	if !errors.Is(err, sequencer.ErrNoFreeNode) {
		t.Errorf("a client whose clock is ahead: %v", err)
	}
	if made := calls.Load() - before; made > 100 {
		t.Errorf("it made %d calls in 2 s", made)
	}
	if _, err := h.Next(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestReportPrecedesUse (E7, EH2): last_reported_time is at or above every ID from before it is
// issued, and at the last one after a return.
func TestReportPrecedesUse(t *testing.T) {
	cli, prefix := etcdtest.Connect(t, etcdtest.Shared(t)), etcdtest.Prefix(t)
	c := etcdtest.Opened(t, mixedStore, cli, prefix, store.Config{Window: time.Second})
	h, err := c.CreateSequencer(t.Context(), mixed.Sequencer, sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		id, err := h.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last = h.Definition().Decompose(id).Time.UnixMilli()
		reported, err := strconv.ParseInt(etcdtest.Value(t, cli, prefix+"workers/last_reported_time/0"), 10, 64)
		if err != nil || reported < last {
			t.Fatalf("an ID has the time %d, and %d, %v is reported", last, reported, err)
		}
	}
	if err := c.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := strconv.FormatInt(last, 10)
	if got := etcdtest.Value(t, cli, prefix+"workers/last_reported_time/0"); got != want {
		t.Errorf("after the return %s is reported, not %s", got, want)
	}
}
