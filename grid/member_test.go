package grid_test

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/sequencer"
)

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func testLogger() *slog.Logger {
	if testing.Verbose() {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	return nil
}

func TestLoneMember(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	m, err := grid.Start(ctx, grid.Config{Logger: testLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	last := sequencer.ID(0)
	for range 100_000 {
		id, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if id <= last {
			t.Fatalf("ID %d after %d", id, last)
		}
		last = id
	}
}

// startGrid starts n members on loopback that form one grid.
func startGrid(t *testing.T, n int, change func(i int, c *grid.Config)) []*grid.Member {
	ctx := testContext(t)
	members := make([]*grid.Member, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	addrs := freePorts(t, n)
	for i := range n {
		cfg := grid.Config{
			GossipAddr: addrs[i], RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0",
			Join: addrs, Expect: n, DataDir: t.TempDir(), Logger: testLogger(),
		}
		if change != nil {
			change(i, &cfg)
		}
		wg.Go(func() { members[i], errs[i] = grid.Start(ctx, cfg) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("member %d: %v", i, err)
		}
		t.Cleanup(func() { _ = members[i].Close() })
	}
	return members
}

// freePorts returns addresses on loopback that nothing listens on.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	addrs, err := loopback.FreeAddrs(n)
	if err != nil {
		t.Fatal(err)
	}
	return addrs
}

func TestThreeMembers(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	began := time.Now()
	members := startGrid(t, 3, nil)
	t.Logf("formed in %v", time.Since(began))
	var all []sequencer.ID
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range members {
		s, err := m.CreateSequencer(ctx, "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			wg.Go(func() {
				ids := make([]sequencer.ID, 0, 50_000)
				for range cap(ids) {
					id, err := s.Next(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					ids = append(ids, id)
				}
				if !slices.IsSorted(ids) {
					t.Error("not ascending")
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, ids...)
			})
		}
	}
	wg.Wait()
	slices.Sort(all)
	n := len(all)
	if all = slices.Compact(all); len(all) != n || n != 600_000 {
		t.Fatalf("%d IDs, %d distinct", n, len(all))
	}
}

// within waits until ok, at most for limit.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
