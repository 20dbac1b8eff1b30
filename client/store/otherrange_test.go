package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/client/store/storetest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// inRange takes an ID and checks its node against the handle's definition.
func inRange(ctx context.Context, t *testing.T, s *sequencer.Sequencer) (sequencer.ID, error) {
	id, err := s.Next(ctx)
	if err != nil {
		return 0, err
	}
	def := s.Definition()
	nodes, parts := def.Config().NodeRange, def.Decompose(id)
	if held, ok := s.LogicalNode(); ok && (held < nodes.Lo || held > nodes.Hi) {
		t.Errorf("%v: a holder has node %d", def, held)
	}
	if parts.Node < nodes.Lo || parts.Node > nodes.Hi {
		t.Errorf("%v: ID %d has node %d", def, id, parts.Node)
	}
	return id, nil
}

// TestOtherNodesInTheNextLife: a name that is created again with other nodes has as many holders as its new
// range, on nodes of that range alone, and can be destroyed again.
func TestOtherNodesInTheNextLife(t *testing.T) {
	js := sequencer.JSSafe()
	all := sequencer.Config{Layout: js, Nodes: 64}
	of := func(lo, hi sequencer.NodeID) sequencer.Config {
		return sequencer.Config{Layout: js, Nodes: 64, NodeRange: sequencer.NodeRange{Lo: lo, Hi: hi}}
	}
	for _, c := range []struct {
		name  string
		lives []sequencer.Config
		pool  int
	}{
		{"inside", []sequencer.Config{all, of(4, 7), all}, 16},
		{"elsewhere", []sequencer.Config{all, of(60, 63), of(30, 40), all}, 16},
		{"from below", []sequencer.Config{of(4, 7), all, of(4, 7)}, 16},
		{"overlap", []sequencer.Config{of(4, 11), of(8, 15), of(0, 9)}, 16},
		{"shorter", []sequencer.Config{of(4, 11), of(4, 5), of(4, 11)}, 16},
		{"fewer nodes", []sequencer.Config{{Nodes: 256}, {Nodes: 128}}, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := store.NewMemory()
				for _, cfg := range c.lives {
					life(t, memory, cfg, c.pool)
				}
			})
		})
	}
}

// life creates a sequencer, attaches as many holders as it admits, and destroys it.
func life(t *testing.T, s store.Store, cfg sequencer.Config, pool int) {
	t.Helper()
	ctx := t.Context()
	def, err := sequencer.Define("orders", cfg)
	if err != nil {
		t.Fatal(err)
	}
	var clients []*store.Client
	issued := map[sequencer.ID]bool{}
	slots := min(pool, def.Config().NodeRange.Count(def.Config().Nodes))
	for range slots {
		client, err := store.Open(ctx, s, store.Config{Pool: pool, Clock: ahead})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		clients = append(clients, client)
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		handle, err := client.CreateSequencer(short, "orders", cfg)
		if err != nil {
			t.Fatalf("holder %d of %d of %v: %v", len(clients), slots, def, err)
		}
		for range 3 {
			id, err := inRange(short, t, handle)
			if err != nil {
				t.Fatal(err)
			}
			if issued[id] {
				t.Errorf("%v: ID %d was issued twice", def, id)
			}
			issued[id] = true
			time.Sleep(time.Millisecond)
		}
	}
	short, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	last, err := store.Open(ctx, s, store.Config{Pool: pool, Clock: ahead})
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	if _, err := last.CreateSequencer(short, "orders", cfg); !errors.Is(err, sequencer.ErrNoFreeNode) {
		t.Errorf("%v: holder beyond the last slot: %v", def, err)
	}
	status, err := last.Status(ctx, "orders")
	if err != nil || status.Slots != slots || len(status.Records) != slots {
		t.Errorf("%v: status %+v, %v", def, status, err)
	}
	if err := last.DestroySequencer(ctx, "orders"); err != nil {
		t.Fatalf("%v: destroy: %v", def, err)
	}
}

// ahead is a clock in the time of the bubble, after the epoch.
func ahead() time.Time { return time.Now().Add(27 * 365 * 24 * time.Hour) }

// TestOtherNodesUnderFaults has clients create, use, scale, retire and destroy one name with several ranges over
// stores with faults. No ID is issued twice or outside its range, and the name can be used afterwards.
func TestOtherNodesUnderFaults(t *testing.T) {
	created := 0
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) { created += otherNodesUnderFaults(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if created < 1000 {
		t.Errorf("only %d IDs", created)
	}
}

// otherNodesUnderFaults returns the number of issued IDs.
func otherNodesUnderFaults(t *testing.T, seed uint64) int {
	ctx := t.Context()
	memory := store.NewMemory()
	under := store.Store(memory)
	if seed%2 == 1 {
		under = &staleStore{Memory: memory, rand: rand.New(rand.NewPCG(seed, 9)), old: map[string][]store.Entry{}}
	}
	var mu sync.Mutex
	issued := map[sequencer.ID]bool{}
	created := 0
	var workers sync.WaitGroup
	for i := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, i))
		faulty := storetest.NewFaulty(under, r.Uint64())
		faulty.Set(storetest.Faults{LoseRequest: 0.02, LoseAnswer: 0.05, Late: 0.05, Repeat: 0.05,
			Delay: 300 * time.Millisecond})
		client, err := store.Open(ctx, faulty, store.Config{Pool: 1 + r.IntN(12), Clock: ahead, Window: 3 * time.Second})
		if err != nil {
			continue
		}
		workers.Go(func() {
			defer client.Close()
			for range 25 {
				short, cancel := context.WithTimeout(ctx, 8*time.Second)
				lo := sequencer.NodeID(r.IntN(3) * 4)
				cfg := sequencer.Config{Layout: sequencer.JSSafe(), Nodes: 16,
					NodeRange: sequencer.NodeRange{Lo: lo, Hi: lo + 1 + sequencer.NodeID(r.IntN(6))}}
				s, err := client.CreateSequencer(short, "orders", cfg)
				if errors.Is(err, sequencer.ErrConflict) {
					s, err = client.OpenSequencer(short, "orders")
				}
				for range 5 {
					if err != nil {
						break
					}
					var id sequencer.ID
					if id, err = inRange(short, t, s); err == nil {
						mu.Lock()
						if issued[id] {
							t.Errorf("ID %d was issued twice", id)
						}
						issued[id] = true
						created++
						mu.Unlock()
					}
					time.Sleep(time.Duration(r.IntN(800)) * time.Millisecond)
				}
				if errors.Is(err, store.ErrDamaged) {
					t.Errorf("damaged: %v", err)
				}
				switch r.IntN(8) {
				case 0, 1:
					err = client.DestroySequencer(short, "orders")
				case 2:
					err = client.Scale(short, "orders", 1+r.IntN(6))
				case 3:
					err = client.Forget(short, "orders")
				case 4:
					err = client.Retire(short, "orders", sequencer.NodeID(r.IntN(14)))
				case 5:
					err = client.Restore(short, "orders", sequencer.NodeID(r.IntN(14)))
				}
				if errors.Is(err, store.ErrDamaged) {
					t.Errorf("damaged: %v", err)
				}
				cancel()
				if r.IntN(4) == 0 {
					faulty.Deliver(ctx)
				}
			}
		})
	}
	workers.Wait()
	for i := range 3 {
		lo := sequencer.NodeID(2 + 3*i)
		client, err := store.Open(ctx, memory, store.Config{Clock: ahead})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.DestroySequencer(ctx, "orders"); err != nil && !errors.Is(err, sequencer.ErrNotFound) {
			t.Errorf("destroy: %v", err)
		}
		client.Close()
		life(t, memory, sequencer.Config{Layout: sequencer.JSSafe(), Nodes: 16,
			NodeRange: sequencer.NodeRange{Lo: lo, Hi: lo + 4}}, 3)
	}
	return created
}

// staleStore is a store whose reads of a marker may be older than its writes.
type staleStore struct {
	*store.Memory

	mu   sync.Mutex
	rand *rand.Rand
	old  map[string][]store.Entry // the states of each key
}

// Load implements store.Store.
func (s *staleStore) Load(ctx context.Context, key string) (store.Entry, error) {
	e, err := s.Memory.Load(ctx, key)
	if err != nil {
		return e, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stale(e), nil
}

// List implements store.Store.
func (s *staleStore) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	all, err := s.Memory.List(ctx, prefix)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		all[i] = s.stale(all[i])
	}
	return all, err
}

// stale returns one of the last states of an entry. The caller holds mu.
func (s *staleStore) stale(e store.Entry) store.Entry {
	known := s.old[e.Key]
	if len(known) == 0 || known[len(known)-1].Revision != e.Revision {
		known = append(known, e)
		s.old[e.Key] = known
	}
	if !strings.HasSuffix(e.Key, "node-ids-initialized") || s.rand.IntN(2) > 0 {
		return e
	}
	return known[len(known)-1-s.rand.IntN(min(len(known), 8))]
}
