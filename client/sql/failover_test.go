package sql_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	storesql "github.com/snowgrid/snowgrid/client/sql"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

const window = 2 * time.Second

// ids collects IDs of all holders and finds those that come twice.
type ids struct {
	mu    sync.Mutex
	seen  map[sequencer.ID]bool
	twice []sequencer.ID
}

func (c *ids) add(id sequencer.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[sequencer.ID]bool{}
	}
	if c.seen[id] {
		c.twice = append(c.twice, id)
	}
	c.seen[id] = true
}

// check wants IDs, and none of them twice.
func (c *ids) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.twice) > 0 || len(c.seen) == 0 {
		t.Errorf("of %d IDs came twice: %v", len(c.seen), c.twice)
	}
	t.Logf("%d IDs", len(c.seen))
}

// open returns a client of a store.
func open(t *testing.T, s store.Store, cfg store.Config) *store.Client {
	t.Helper()
	cfg.Window, cfg.AcquireMaxDelay, cfg.MaxSkew = window, 200*time.Millisecond, 100*time.Millisecond
	c, err := store.Open(t.Context(), s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// create returns a handle with a logical node.
func create(t *testing.T, c *store.Client, name string) *sequencer.Sequencer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	h, err := c.CreateSequencer(ctx, name, sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// work takes IDs until ctx ends.
func work(ctx context.Context, all *sync.WaitGroup, found *ids, h *sequencer.Sequencer) {
	all.Go(func() {
		for ctx.Err() == nil {
			if id, err := h.Next(ctx); err == nil {
				found.add(id)
			}
			time.Sleep(100 * time.Microsecond) // a rate that a map of all IDs can bear
		}
	})
}

// TestHoldersOverARestart: holders issue IDs while their server is killed, stays away for
// longer than a window, and comes back; they continue by themselves.
func TestHoldersOverARestart(t *testing.T) {
	server := sqltest.StartPostgres(t)
	s := storesql.New(server.Open(), storesql.PostgreSQL, "snowgrid")
	if err := s.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	found, all := &ids{}, &sync.WaitGroup{}
	var handles []*sequencer.Sequencer
	for range 3 {
		h := create(t, open(t, s, store.Config{}), "orders")
		handles = append(handles, h)
		work(ctx, all, found, h)
	}
	server.Kill()
	for _, h := range handles {
		await(t, func() bool { return h.Stats().WaitingNow > 0 },
			func() string { return "all wait once their grants are over" })
	}
	server.Start()
	for _, h := range handles {
		issued := h.Stats().IDs
		await(t, func() bool { return h.Stats().IDs > issued+10 }, func() string { return "all issue IDs again" })
	}
	cancel()
	all.Wait()
	found.check(t)
}

// TestLossyServerNeedsABound: a server whose failover may lose writes is refused until
// the user says how long a replaced server acknowledges.
func TestLossyServerNeedsABound(t *testing.T) {
	s := storesql.New(sqltest.StartMariaDB(t, "log-bin=binlog", "server-id=7").Open(), storesql.MySQL, "snowgrid")
	if err := s.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), s, store.Config{}); !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("opened without FailoverBound: %v", err)
	} else {
		t.Log(err)
	}
	create(t, open(t, s, store.Config{FailoverBound: time.Second}), "orders")
	create(t, open(t, s.WithoutFailover(), store.Config{}), "carts")
}

// TestFailoverThatLosesWrites: a standby that lacks a holder's record takes the primary's
// place. The holder that lives on by its grant and the one that takes its logical node at
// the new server never issue the same ID.
func TestFailoverThatLosesWrites(t *testing.T) {
	primary := sqltest.StartPostgres(t)
	before := storesql.New(primary.Open(), storesql.PostgreSQL, "snowgrid")
	if err := before.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	bound := store.Config{FailoverBound: 500 * time.Millisecond, Pool: 1}
	first := open(t, before, bound)
	h := create(t, first, "orders")
	if err := h.DetachLogicalNode(t.Context()); err != nil { // so that the standby has a free record
		t.Fatal(err)
	}
	standby := startStandby(t, primary)
	await(t, func() bool {
		_, err := storesql.New(standby.Open(), storesql.PostgreSQL, "snowgrid").Load(t.Context(), "orders/0.json")
		return err == nil
	}, func() string { return "the standby has the record" })
	standby.Kill() // from here on it receives nothing
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	found, all := &ids{}, &sync.WaitGroup{}
	if err := h.AttachLogicalNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	work(ctx, all, found, h)
	node, _ := h.LogicalNode()
	await(t, func() bool { return h.Stats().IDs > 100 }, func() string { return "the first holder issues IDs" })
	primary.Kill()
	standby.Start()
	promote := sqltest.PostgresProgram("pg_ctl", "-D", standby.Dir, "promote", "-w")
	if out, err := promote.CombinedOutput(); err != nil {
		t.Fatalf("pg_ctl promote: %v\n%s", err, out)
	}
	after := storesql.New(standby.Open(), storesql.PostgreSQL, "snowgrid")
	next := create(t, open(t, after, bound), "orders")
	if taken, _ := next.LogicalNode(); taken != node {
		t.Errorf("logical node %d was taken, the first holder has %d: nothing is tested", taken, node)
	}
	work(ctx, all, found, next)
	await(t, func() bool { return next.Stats().IDs > 100 }, func() string { return "the next holder issues IDs" })
	cancel()
	all.Wait()
	found.check(t)
}
