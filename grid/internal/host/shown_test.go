package host

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
)

// TestKnownWaitsForItsLife: a handle without a logical node is not told that its
// life exists before the backup has acknowledged the life (O4).
func TestKnownWaitsForItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		l.holds(0)
		created := l.begin(func(ctx context.Context) error {
			_, err := l.m.Create(ctx, wire.CreateRequest{Name: "orders", Epoch: new(int64(1)), Nodes: 128})
			return err
		})
		known := l.begin(func(ctx context.Context) error {
			c := wire.Claim{Sequencer: wire.SequencerOf(l.record().Ref), Grid: roster.GridID{1},
				Version: l.m.state.Roster().Version}
			return l.m.renewClaims(ctx, wire.RenewRequest{Holder: "other", Claims: []wire.Claim{c}}, []int{0})[0].Error.Unwire()
		})
		l.answered("create", created, false)
		l.answered("the handle without a node", known, false)
		l.holds(1)
		l.answered("create", created, true)
		l.answered("the handle without a node", known, true)
	})
}

// page is one page of a table of three names, at a position of a term.
func page(v roster.Version, at backup.Position, n int) member.ReplicateRequest {
	name := []string{"invoices", "orders", "users"}[n]
	return member.ReplicateRequest{
		Version: v, Position: at, Pages: 3, Page: n,
		Table: &member.Table{Records: []member.Record{{Sequencer: wire.Sequencer{Name: name, Epoch: 1, Nodes: 128}}}},
	}
}

// TestPagesAreOfOneTable: a replica holds a table when it has all its pages, in
// order, of one position at one version; half a table counts for nothing (O3, B1).
func TestPagesAreOfOneTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		l.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: backupInc}}})
		v, term := l.m.state.Roster().Version, l.m.state.Roster().Partitions[0].Term
		first, second := backup.Position{Term: term, Number: 1}, backup.Position{Term: term, Number: 2}
		for i, step := range []struct {
			page  member.ReplicateRequest
			gap   bool
			whole bool
		}{
			{page: page(v, first, 1), gap: true},
			{page: page(v, first, 0)},
			{page: page(v, first, 2), gap: true},
			{page: page(v, first, 0)},
			{page: page(v, second, 1), gap: true},
			{page: page(v, first, 0)},
			{page: page(v+1, first, 1), gap: true},
			{page: page(v, first, 0)},
			{page: page(v, second, 0)},
			{page: page(v, second, 1)},
			{page: page(v, second, 2), whole: true},
		} {
			res, err := api.Await(t.Context(), step.page, l.m.startReplicate)
			if err != nil || res.Gap != step.gap || (res.Held == second) != step.whole || (res.Held.Term == term) != step.whole {
				t.Errorf("step %d: %+v, %v", i, res, err)
			}
		}
		l.do(func(partition.View) {
			if n := len(l.o.machine.Table().Snapshot().Records); n != 3 {
				t.Errorf("the table has %d names, want 3", n)
			}
		})
	})
}
