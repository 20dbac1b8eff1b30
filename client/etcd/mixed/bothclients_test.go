package mixed_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ledger has every ID that handles issued.
type ledger struct {
	t      *testing.T
	mu     sync.Mutex
	issued map[sequencer.ID]bool
}

// newLedger returns an empty ledger.
func newLedger(t *testing.T) *ledger {
	t.Helper()
	return &ledger{t: t, issued: map[sequencer.ID]bool{}}
}

// Add records an ID, and fails if it was issued before.
func (l *ledger) Add(id sequencer.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.issued[id] {
		l.t.Errorf("the ID %d was issued twice", id)
	}
	l.issued[id] = true
}

// Count returns the number of IDs.
func (l *ledger) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.issued)
}

// Issue issues IDs until ctx ends. Waits are no failures.
func (l *ledger) Issue(ctx context.Context, h *sequencer.Sequencer) {
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		id, err := h.Next(call)
		cancel()
		switch {
		case err == nil:
			l.Add(id)
		case !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled):
			l.t.Errorf("no ID: %v", err)
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// outages checks that no ID is issued twice, and that every handle continues, while etcd is killed for two
// windows, restarted, compacted and defragmented, several times, and clients come and go.
func outages(t *testing.T, k etcdtest.Kind) {
	const window = 2 * time.Second
	srv := etcdtest.Own(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	l := newLedger(t)
	issuing, end := context.WithCancel(ctx)
	defer end()
	var running sync.WaitGroup
	handles := make([]*sequencer.Sequencer, 3)
	for i := range handles {
		c := etcdtest.Opened(t, k, etcdtest.Connect(t, srv), "", store.Config{Pool: 8, Window: window})
		h, err := c.CreateSequencer(ctx, "default", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		handles[i] = h
		running.Go(func() { l.Issue(issuing, h) })
	}
	coming := etcdtest.Opened(t, k, etcdtest.Connect(t, srv), "",
		store.Config{Pool: 8, Window: window, Task: "comes and goes"})
	var went atomic.Int64
	running.Go(func() { // attaches and returns a node all the time
		h, err := coming.OpenSequencer(issuing, "default")
		for issuing.Err() == nil {
			if err == nil {
				var id sequencer.ID
				if id, err = h.Next(issuing); err == nil {
					l.Add(id)
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
	admin := etcdtest.Connect(t, srv)
	for range 2 {
		etcdtest.Await(t, 30*time.Second, "more attaches and returns", func() bool { return went.Load() > 20 })
		srv.Kill()
		time.Sleep(2 * window)
		if err := srv.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		before := l.Count()
		went.Store(0)
		etcdtest.Await(t, 30*time.Second, "more IDs after a restart", func() bool { return l.Count() > before+100 })
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
	t.Logf("%d IDs, no two equal", l.Count())
}

// noFreeNode checks that a create that finds every node taken waits until its context ends (E4).
func noFreeNode(t *testing.T, k etcdtest.Kind) {
	cli, prefix := etcdtest.Connect(t, etcdtest.Shared(t)), etcdtest.Prefix(t)
	first := etcdtest.Opened(t, k, cli, prefix, store.Config{Pool: 1})
	if _, err := first.CreateSequencer(t.Context(), "default", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	_, err := etcdtest.Opened(t, k, cli, prefix, store.Config{Pool: 1}).CreateSequencer(ctx, "default", sequencer.Config{})
	if !errors.Is(err, sequencer.ErrNoFreeNode) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second holder of one node: %v", err)
	}
}
