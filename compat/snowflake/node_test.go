package snowflake_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/compat/snowflake"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestGenerateIsUnique: no two IDs of concurrent goroutines are equal, and the IDs of each ascend.
func TestGenerateIsUnique(t *testing.T) {
	s, _ := create(t, twitter)
	node := use(t, s)
	const goroutines, each = 4, 20_000
	ids := make([][]snowflake.ID, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for range each {
				ids[g] = append(ids[g], node.Generate())
			}
		})
	}
	all.Wait()
	seen := make(map[snowflake.ID]bool, goroutines*each)
	for _, of := range ids {
		last := snowflake.ID(0)
		for _, id := range of {
			if id <= last || seen[id] {
				t.Fatalf("%d after %d, generated before: %v", id, last, seen[id])
			}
			seen[id], last = true, id
		}
	}
}

// TestPartsOfAGeneratedID: the ID, the node and the sequencer's definition agree on the parts.
func TestPartsOfAGeneratedID(t *testing.T) {
	s, _ := create(t, twitter)
	node := use(t, s)
	before := time.Now().Add(-time.Second)
	id := node.Generate()
	p := s.Definition().Decompose(sequencer.ID(id))
	if id.Time() != p.Time.UnixMilli() || id.Node() != int64(p.Node) || id.Step() != int64(p.Counter) {
		t.Errorf("%d has the parts %d, %d, %d, want %v", id, id.Time(), id.Node(), id.Step(), p)
	}
	if id.Time() != node.Time(id) || id.Node() != node.Node(id) || id.Step() != node.Step(id) {
		t.Errorf("the node decomposes %d into %d, %d, %d", id, node.Time(id), node.Node(id), node.Step(id))
	}
	if at := time.UnixMilli(id.Time()); at.Before(before) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("the time of an ID of now is %v", at)
	}
	if n, attached := s.LogicalNode(); !attached || int64(n) != id.Node() {
		t.Errorf("the ID has node %d, the handle %d, %v", id.Node(), n, attached)
	}
}

func TestUseRefusesOtherParts(t *testing.T) {
	for name, c := range map[string]sequencer.Config{
		"epoch":         {Layout: sequencer.Twitter(), Epoch: epoch.Discord},
		"default":       {},
		"node bits":     {Layout: sequencer.Twitter(), Epoch: epoch.Twitter, Nodes: 512},
		"step bits":     {Layout: sequencer.Layout{Bits: 63, LowBits: 21, Nodes: 1024}, Epoch: epoch.Twitter},
		"both, 22 bits": {Layout: sequencer.Layout{Bits: 63, LowBits: 22, Nodes: 2048}, Epoch: epoch.Twitter},
	} {
		node, err := snowflake.Use(fixed{cfg: c})
		if node != nil || !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "UseCustom") {
			t.Errorf("%s: %v, %v", name, node, err)
		}
		if node, err := snowflake.UseCustom(fixed{cfg: c}); node == nil || err != nil {
			t.Errorf("%s: UseCustom: %v", name, err)
		}
	}
	// More nodes would be possible in this layout; its IDs have the same bits.
	wide := sequencer.Layout{Bits: 63, LowBits: 22, Nodes: 8192}
	same := sequencer.Config{Layout: wide, Epoch: epoch.Twitter, Nodes: 1024}
	if _, err := snowflake.Use(fixed{cfg: same}); err != nil {
		t.Error(err)
	}
}

func TestUseRefusesNil(t *testing.T) {
	for name, source := range map[string]snowflake.Source{
		"nil": nil, "sequencer": (*sequencer.Sequencer)(nil), "striped": (*sequencer.Striped)(nil),
	} {
		if node, err := snowflake.Use(source); node != nil || !errors.Is(err, sequencer.ErrInvalidConfig) {
			t.Errorf("%s: %v, %v", name, node, err)
		}
	}
}

// TestCustomParts: the formula for a layout in the package comment gives the bits of the earlier IDs.
func TestCustomParts(t *testing.T) {
	const start, nodeBits, stepBits = 1_577_836_800_000, 5, 8 // 2020
	layout := sequencer.Layout{Bits: 41 + nodeBits + stepBits, LowBits: nodeBits + stepBits, Nodes: 1 << nodeBits}
	s, _ := create(t, sequencer.Config{Layout: layout, Epoch: epoch.UnixMilli(start)})
	node, err := snowflake.UseCustom(s)
	if err != nil {
		t.Fatal(err)
	}
	const old = snowflake.ID(123_456_789_012<<13 | 17<<8 | 201)
	if got := [3]int64{node.Time(old), node.Node(old), node.Step(old)}; got != [3]int64{start + 123_456_789_012, 17, 201} {
		t.Errorf("an earlier ID has the parts %d", got)
	}
	if id := node.Generate(); id <= old || time.Since(time.UnixMilli(node.Time(id))).Abs() > time.Minute {
		t.Errorf("ID %d of %v", id, time.UnixMilli(node.Time(id)))
	}
}

// TestCustomLayoutLimits: the formula gives a layout within the limits that the package comment states, and only there.
func TestCustomLayoutLimits(t *testing.T) {
	for nodeBits := range 16 {
		for stepBits := range 23 - nodeBits {
			_, err := sequencer.Define("orders", sequencer.Config{Layout: sequencer.Layout{
				Bits: 41 + nodeBits + stepBits, LowBits: nodeBits + stepBits, Nodes: 1 << nodeBits}})
			if possible := nodeBits >= 4 && nodeBits <= 13 && stepBits >= 1; possible != (err == nil) {
				t.Errorf("%d node bits and %d step bits: %v", nodeBits, stepBits, err)
			}
		}
	}
}

func TestStripedSource(t *testing.T) {
	_, c := create(t, twitter)
	s, err := c.CreateStriped(t.Context(), "striped", twitter, 2)
	if err != nil {
		t.Fatal(err)
	}
	node := use(t, s)
	if a, b := node.Generate(), node.Generate(); a == b {
		t.Errorf("%d twice", a)
	}
}

// panicOf returns the error with which Generate panics.
func panicOf(t *testing.T, node *snowflake.Node) (err error) {
	t.Helper()
	defer func() { err, _ = recover().(error) }()
	id := node.Generate()
	t.Errorf("Generate returned %d", id)
	return nil
}

// TestGeneratePanicsAtTheEnd: after each end of a sequencer Generate panics, and GenerateContext returns the error.
func TestGeneratePanicsAtTheEnd(t *testing.T) {
	ends := func(name string, node *snowflake.Node, want error) {
		t.Helper()
		if err := panicOf(t, node); !errors.Is(err, want) || !strings.Contains(err.Error(), "GenerateContext") {
			t.Errorf("%s: Generate panicked with %v", name, err)
		}
		if id, err := node.GenerateContext(t.Context()); id != 0 || !errors.Is(err, want) {
			t.Errorf("%s: GenerateContext returned %d, %v", name, id, err)
		}
	}
	s, _ := create(t, twitter)
	if err := s.DetachLogicalNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	ends("detached", use(t, s), sequencer.ErrDetached)
	s, _ = create(t, twitter)
	if err := s.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	ends("destroyed", use(t, s), sequencer.ErrDestroyed)
	s, c := create(t, twitter)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	ends("closed", use(t, s), sequencer.ErrClosed)
	for _, err := range []error{sequencer.ErrEpochExhausted, sequencer.ErrGrantExpired, sequencer.ErrQuota} {
		ends("source", use(t, fixed{cfg: twitter, id: 7, err: err}), err)
	}
}

// away is a store in memory that can be made unavailable.
type away struct {
	*store.Memory
	is atomic.Bool
}

var errAway = errors.New("away")

func (a *away) Load(ctx context.Context, key string) (store.Entry, error) {
	if a.is.Load() {
		return store.Entry{}, errAway
	}
	return a.Memory.Load(ctx, key)
}

func (a *away) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	if a.is.Load() {
		return "", errAway
	}
	return a.Memory.Swap(ctx, e)
}

// TestGenerateWaitsWhileTheStoreIsAway: Generate blocks from the grant's end until the store is back, and a context
// ends the wait of GenerateContext.
func TestGenerateWaitsWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &away{Memory: store.NewMemory()}
		clock := func() time.Time { return time.Now().AddDate(26, 0, 0) } // a bubble begins in 2000
		c, err := store.Open(t.Context(), a, store.Config{Window: 3 * time.Second, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		s, err := c.CreateSequencer(t.Context(), "orders", twitter)
		if err != nil {
			t.Fatal(err)
		}
		node := use(t, s)
		before := node.Generate()

		a.is.Store(true)
		time.Sleep(time.Minute)
		done := make(chan snowflake.ID)
		go func() { done <- node.Generate() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		id, err := node.GenerateContext(ctx)
		if id != 0 || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("GenerateContext returned %d, %v", id, err)
		}
		select {
		case id := <-done:
			t.Errorf("Generate returned %d without a grant", id)
		default:
		}
		a.is.Store(false)
		if after := <-done; after <= before {
			t.Errorf("%d after %d", after, before)
		}
	})
}

func TestGenerateAllocatesNothing(t *testing.T) {
	s, _ := create(t, twitter)
	node := use(t, s)
	if n := testing.AllocsPerRun(1000, func() { node.Generate() }); n > 0 {
		t.Errorf("%v allocations per ID", n)
	}
}
