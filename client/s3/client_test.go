package s3

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The tests of this file are the facts Z1 to Z8 of the reference system, with the client of
// package store over a server in memory, in virtual time.

// inVirtualTime runs a test in a bubble, some time after the clocks of bubbles begin.
func inVirtualTime(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)))
		test(t)
	})
}

// open returns a client of the server.
func open(t *testing.T, s *server, cfg store.Config) *store.Client {
	t.Helper()
	c, err := store.Open(t.Context(), New(s.client(nothing), "bucket", "ids/"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// create creates the sequencer of the tests and attaches a node.
func create(t *testing.T, c *store.Client) *sequencer.Sequencer {
	t.Helper()
	q, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// record reads a record past the store.
func (s *server) record(t *testing.T, node int) record.Record {
	t.Helper()
	s.mu.Lock()
	have, ok := s.objects[fmt.Sprintf("ids/orders/%d.json", node)]
	s.mu.Unlock()
	if !ok {
		t.Fatalf("no record of node %d", node)
	}
	meta := map[string]string{}
	for k := range have.head {
		if key, ok := strings.CutPrefix(k, "X-Amz-Meta-"); ok {
			meta[strings.ToLower(key)] = have.head.Get(k)
		}
	}
	if len(have.body) == 0 || have.head.Get("Content-Type") != "application/json" {
		t.Errorf("node %d: %d bytes of type %q", node, len(have.body), have.head.Get("Content-Type"))
	}
	r, err := record.Decode(have.body, meta)
	if err != nil {
		t.Fatal(err)
	}
	if meta["taskid"] != r.Task || meta["version"] != strconv.FormatUint(r.Version, 10) || meta["acquirable"] == "" {
		t.Errorf("node %d: metadata %v of %+v", node, meta, r)
	}
	return r
}

// snapshot returns the ETags of all objects of the sequencer.
func (s *server) snapshot() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	for key, o := range s.objects {
		if strings.HasPrefix(key, "ids/orders/") {
			all[key] = o.head.Get("ETag")
		}
	}
	return all
}

// want returns the names of a sequencer's objects with a number of slots.
func want(slots int) []string {
	keys := []string{"ids/orders/sequencer.json", "ids/orders/node-ids-initialized"}
	for n := range slots {
		keys = append(keys, fmt.Sprintf("ids/orders/%d.json", n))
	}
	slices.Sort(keys)
	return keys
}

// Z1, Z5: clients that start together create each object once, and each gets another node.
func TestZ1StartersCreateEachObjectOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		const n = 8
		server, _ := startServer(t)
		var mu sync.Mutex
		blind := 0
		server.before = func(r *http.Request) (int, string) {
			if r.Method == http.MethodPut && r.Header.Get("If-Match") == "" && r.Header.Get("If-None-Match") != "*" {
				mu.Lock()
				blind++
				mu.Unlock()
			}
			return 0, ""
		}
		nodes := make(chan int, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				c := open(t, server, store.Config{Pool: n, Task: fmt.Sprintf("task%d", i)})
				q := create(t, c)
				node, _ := q.LogicalNode()
				nodes <- int(node)
			})
		}
		all.Wait()
		close(nodes)
		seen := map[int]bool{}
		tasks := map[string]bool{}
		for node := range nodes {
			seen[node] = true
			tasks[server.record(t, node).Task] = true
		}
		if len(seen) != n || len(tasks) != n {
			t.Errorf("nodes %v of tasks %v", seen, tasks)
		}
		if got := slices.Sorted(maps.Keys(server.snapshot())); !slices.Equal(got, want(n)) {
			t.Errorf("objects %v", got)
		}
		if blind > 0 {
			t.Errorf("%d writes without a condition", blind)
		}
	})
}

// Z2: an initialisation that was interrupted is completed, the marker last; one that is
// complete creates nothing.
func TestZ2InitialisationIsCompleted(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, _ := startServer(t)
		server.before = func(r *http.Request) (int, string) {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/5.json") {
				return http.StatusServiceUnavailable, "SlowDown"
			}
			return 0, ""
		}
		c := open(t, server, store.Config{Pool: 8})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if _, err := c.CreateSequencer(ctx, "orders", sequencer.Config{}); err == nil {
			t.Fatal("created without a record")
		}
		cancel()
		_ = c.Close()
		if _, ok := server.snapshot()["ids/orders/node-ids-initialized"]; ok {
			t.Fatal("the marker is there before the records")
		}
		server.before = nil
		create(t, open(t, server, store.Config{Pool: 8}))
		if got := slices.Sorted(maps.Keys(server.snapshot())); !slices.Equal(got, want(8)) {
			t.Errorf("objects %v", got)
		}
		if last := server.created[len(server.created)-1]; last != "ids/orders/node-ids-initialized" {
			t.Errorf("the last object created is %s", last)
		}
		create(t, open(t, server, store.Config{Pool: 20}))
		if got := slices.Sorted(maps.Keys(server.snapshot())); !slices.Equal(got, want(8)) {
			t.Errorf("objects after a start with another pool: %v", got)
		}
	})
}

// Z3: a missing bucket ends the start with a clear error, without retries.
func TestZ3MissingBucket(t *testing.T) {
	server, cli := startServer(t)
	_, err := store.Open(t.Context(), New(cli, "absent", "ids/"), store.Config{})
	if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), `"absent"`) ||
		!strings.Contains(err.Error(), "eu-test-1") {
		t.Errorf("%v", err)
	}
	if len(server.requests) != 1 {
		t.Errorf("requests %v", server.requests)
	}
}

// Z4: the first task gets node 0 in version 1, until a window from now.
func TestZ4FirstTask(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, _ := startServer(t)
		q := create(t, open(t, server, store.Config{Task: "web-7"}))
		if node, ok := q.LogicalNode(); node != 0 || !ok {
			t.Errorf("node %d", node)
		}
		r := server.record(t, 0)
		now := time.Now()
		if r.Task != "web-7" || r.Version != 1 || r.State != record.Held ||
			r.Timestamp.Time().Sub(now).Round(time.Second) != 2*time.Minute {
			t.Errorf("at %v: %+v", now, r)
		}
	})
}

// Z6: a task without a slot waits, changes nothing, and asks less and less.
func TestZ6NoSlotLeft(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, _ := startServer(t)
		create(t, open(t, server, store.Config{Pool: 1}))
		late := open(t, server, store.Config{Pool: 1, Task: "late"})
		server.count(http.MethodPut)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_, err := late.CreateSequencer(ctx, "orders", sequencer.Config{})
		if !errors.Is(err, sequencer.ErrNoFreeNode) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if r := server.record(t, 0); r.Version != 1 || r.Task == "late" {
			t.Errorf("%+v", r)
		}
		// Renewals of the holder alone: 10 minutes at 32 to 40 s each.
		if puts := server.count(http.MethodPut); puts < 14 || puts > 20 {
			t.Errorf("%d writes", puts)
		}
	})
}

// Z7: the record of a crashed task is taken when it has expired, in the next version.
func TestZ7CrashedTask(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, _ := startServer(t)
		crashed := open(t, server, store.Config{Pool: 1, Task: "crashed"})
		create(t, crashed)
		_ = crashed.Close() // returns nothing
		began := time.Now()
		next := open(t, server, store.Config{Pool: 1, Task: "next"})
		create(t, next)
		if waited := time.Since(began); waited < 80*time.Second || waited > 160*time.Second {
			t.Errorf("waited %v", waited)
		}
		if r := server.record(t, 0); r.Task != "next" || r.Version != 2 || r.Graceful {
			t.Errorf("%+v", r)
		}
	})
}

// Z8: the record of a task that left can be taken immediately, in the next version. Its
// body is not empty.
func TestZ8TaskLeaves(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, _ := startServer(t)
		first := open(t, server, store.Config{Pool: 1, Task: "first"})
		create(t, first)
		if err := first.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := server.record(t, 0); r.State != record.Free || r.Version != 1 {
			t.Errorf("%+v", r)
		}
		began := time.Now()
		create(t, open(t, server, store.Config{Pool: 1, Task: "next"}))
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("waited %v", waited)
		}
		if r := server.record(t, 0); r.Task != "next" || r.Version != 2 || !r.Graceful {
			t.Errorf("%+v", r)
		}
	})
}

// Z9: a renewal moves the time and changes the ETag, and neither version nor task.
func TestZ9Renewal(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, _ := startServer(t)
		create(t, open(t, server, store.Config{Task: "web-7"}))
		before, tag := server.record(t, 0), server.snapshot()["ids/orders/0.json"]
		time.Sleep(41 * time.Second)
		after := server.record(t, 0)
		if after.Timestamp <= before.Timestamp || after.Version != 1 || after.Task != "web-7" ||
			server.snapshot()["ids/orders/0.json"] == tag {
			t.Errorf("%+v, then %+v", before, after)
		}
	})
}

// The record that a task of the original released has an empty body.
func TestRecordReleasedByTheOriginal(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		server, _ := startServer(t)
		first := open(t, server, store.Config{Pool: 1})
		create(t, first)
		if err := first.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		server.write("ids/orders/0.json", nil, map[string]string{"version": "41", "acquirable": "true"})
		create(t, open(t, server, store.Config{Pool: 1}))
		if r := server.record(t, 0); r.Version != 42 || r.State != record.Held {
			t.Errorf("%+v", r)
		}
	})
}
