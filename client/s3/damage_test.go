package s3

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ZH9: a server that ignores conditions is refused by the start-up probe.
func TestServerThatIgnoresConditionsIsRefused(t *testing.T) {
	server, cli := startServer(t)
	server.ignores = true
	_, err := store.Open(t.Context(), New(cli, "bucket", "ids/"), store.Config{})
	if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "conditional") ||
		!strings.Contains(err.Error(), `"bucket"`) {
		t.Errorf("%v", err)
	}
}

// ZH3, ZH4: a clock that is far from the server's is refused, with both times.
func TestClockFarFromTheServersIsRefused(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
			server, cli := startServer(t)
			server.now = func() time.Time { return time.Now().Add(ahead) }
			_, err := store.Open(t.Context(), New(cli, "bucket", ""), store.Config{})
			if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "MaxSkew") {
				t.Errorf("server %v ahead: %v", ahead, err)
			}
		}
	})
}

// ZH2: the revision of a free record is of no use after another took and returned it.
func TestStaleRevisionOfAFreeRecord(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, cli := startServer(t)
		cycle := func() {
			c := open(t, server, store.Config{Pool: 1})
			create(t, c)
			if err := c.Leave(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		cycle()
		s := New(cli, "bucket", "ids/")
		free, err := s.Load(t.Context(), "orders/0.json")
		if err != nil {
			t.Fatal(err)
		}
		cycle()
		stale := free
		stale.Body = newBody()
		if _, err := s.Swap(t.Context(), stale); !errors.Is(err, store.ErrChanged) {
			t.Errorf("%v", err)
		}
		if again, err := s.Load(t.Context(), free.Key); err != nil || again.Revision == free.Revision {
			t.Errorf("revision %s of both free bodies (%v)", again.Revision, err)
		}
	})
}

// Z20, Z21: a record whose body and metadata disagree is left out; another is taken.
func TestZ21CorruptRecordIsLeftOut(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, _ := startServer(t)
		first := open(t, server, store.Config{Pool: 3})
		create(t, first)
		if err := first.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		body := server.objects["ids/orders/0.json"].body
		server.write("ids/orders/0.json", body, map[string]string{"taskid": "another", "version": "1"})
		server.write("ids/orders/1.json", []byte(`{"taskId":`), nil)
		c := open(t, server, store.Config{Pool: 3})
		if node, _ := create(t, c).LogicalNode(); node != 2 {
			t.Errorf("node %d", node)
		}
		if h := c.Health(); h.Corrupt != 2 {
			t.Errorf("%+v", h)
		}
	})
}

// A record that a lifecycle rule or a person deleted is damage: its holder gets another
// node, no start creates the record again, and Repair does.
func TestDeletedRecord(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, _ := startServer(t)
		losses := make(chan store.Loss, 10)
		c := open(t, server, store.Config{Pool: 2, OnLost: func(l store.Loss) { losses <- l }})
		q := create(t, c)
		ids := map[sequencer.ID]bool{}
		take := func() {
			for range 1000 {
				id, err := q.Next(t.Context())
				if err != nil || ids[id] {
					t.Fatalf("%d, twice: %v, %v", id, ids[id], err)
				}
				ids[id] = true
			}
		}
		take()
		server.remove("ids/orders/0.json")
		time.Sleep(2 * time.Minute)
		take()
		if l := <-losses; !errors.Is(l.Cause, store.ErrDamaged) || l.Node != 0 {
			t.Errorf("%+v", l)
		}
		if node, ok := q.LogicalNode(); node != 1 || !ok {
			t.Errorf("node %d, %v", node, ok)
		}

		late := open(t, server, store.Config{Pool: 2})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := late.CreateSequencer(ctx, "orders", sequencer.Config{})
		if err == nil || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "repair") {
			t.Errorf("%v", err)
		}
		if _, there := server.snapshot()["ids/orders/0.json"]; there {
			t.Fatal("a start created the record again")
		}
		if err := late.Repair(t.Context(), "orders", 0, time.Now().Add(4*time.Minute)); err != nil {
			t.Fatal(err)
		}
		if node, _ := create(t, late).LogicalNode(); node != 0 {
			t.Errorf("node %d after the repair", node)
		}
		if r := server.record(t, 0); r.State != record.Held || r.From.Time().Before(time.Now().Add(3*time.Minute)) {
			t.Errorf("%+v", r)
		}
	})
}

// Z15: a server that has become slow makes the client not ready, and Next still has IDs.
func TestZ15SlowServer(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, _ := startServer(t)
		c := open(t, server, store.Config{Window: 5 * time.Second, CallTimeout: 2500 * time.Millisecond})
		q := create(t, c)
		synctest.Wait() // the readiness of a new node is decided in the background
		if h := c.Health(); !h.Valid || !h.Ready {
			t.Fatalf("%+v", h)
		}
		server.delay.Store(int64(10 * time.Second))
		time.Sleep(3 * time.Second)
		if _, err := q.Next(t.Context()); err != nil {
			t.Errorf("within the window: %v", err)
		}
		time.Sleep(4 * time.Second)
		if h := c.Health(); h.Ready || h.Reason == "" {
			t.Errorf("%+v", h)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the window: %v", err)
		}
		server.delay.Store(0)
		if _, err := q.Next(t.Context()); err != nil {
			t.Errorf("when the server answers again: %v", err)
		}
	})
}
