package gridtest_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/foreign"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// oldGenerator makes IDs of a published format by a right clock, as several processes with a node each.
type oldGenerator struct {
	format foreign.Format
	nodes  int
	clock  time.Duration // ahead of the bubble's
	ids    []sequencer.ID
}

// make makes some IDs of each node, in the present unit of time.
func (o *oldGenerator) make(each uint32) {
	ticks := time.Now().Add(o.clock).Sub(o.format.Epoch.Time()) / o.format.Unit
	at := o.format.Epoch.Time().Add(ticks * o.format.Unit)
	for node := range o.nodes {
		for counter := range each {
			o.ids = append(o.ids, o.format.Compose(foreign.Parts{Time: at, Node: uint32(node), Counter: counter}))
		}
	}
}

// TestMigrationFromGenerators: after a move from each known generator, ten minutes of IDs have no duplicate with the
// existing ones. They are larger than those, unless the generator runs on at the same time where it can.
func TestMigrationFromGenerators(t *testing.T) {
	t.Parallel()
	for _, name := range foreign.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { migrateFrom(t, name) })
		})
	}
}

func migrateFrom(t *testing.T, name string) {
	g := gridtest.Start(t, gridtest.Config{Members: 1, Durable: true, Logger: logger()})
	format, err := foreign.Find(name)
	ok(t, "find", err)
	if name == "uid-generator" { // its default of 28 bits ended in 2024
		format, err = format.WithBits(21, 13)
		ok(t, "bits", err)
	}
	old := oldGenerator{format: format, nodes: 5, clock: time.Until(statusOf(t, g, "m1").ClusterTime)}
	for range 500 {
		old.make(3)
		time.Sleep(max(20*time.Millisecond, format.Unit))
	}
	existing := slices.Max(old.ids)
	request := foreign.Request{Format: format, Max: existing, Now: time.Now().Add(old.clock), Parallel: true}
	plan, err := foreign.Migration(request)
	if err != nil {
		request.Parallel = false
		plan, err = foreign.Migration(request)
	}
	ok(t, "plan", err)
	s, err := g.Member("m1").CreateSequencer(within(t, time.Minute), "orders", plan.Config)
	ok(t, "create", err)
	var ids []sequencer.ID
	end := time.Now().Add(long.Or(30*time.Second, 10*time.Minute))
	for ; time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if plan.Parallel {
			old.make(3)
		}
		ids = append(ids, make([]sequencer.ID, 15)...)
		_, err := s.Fill(context.Background(), ids[len(ids)-15:])
		ok(t, "fill", err)
	}
	if first := slices.Min(ids); first <= existing {
		t.Errorf("%s: ID %d is not above the existing %d", name, first, existing)
	}
	made := len(ids)
	all := append(ids, old.ids...)
	slices.Sort(all)
	if n := len(all) - len(slices.Compact(all)); n > 0 {
		t.Errorf("%s: %d of %d IDs are equal", name, n, len(all))
	}
	t.Logf("%s: %d IDs made, %d of the generator, in parallel %t: %v, epoch %v", name, made, len(old.ids), plan.Parallel,
		s.Definition().Config().Layout, s.Definition().Config().Epoch)
}
