package grid

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// TestEarlierGrantIsNotServed: whoever shows a grant of another grid beyond the floor
// gets nothing, by attach or by renewal, before all floors are above it (S2). No floor
// follows what no earlier life can have granted if the clocks are right.
func TestEarlierGrantIsNotServed(t *testing.T) {
	ref := wire.Sequencer{Name: "orders", Epoch: 1, Nodes: 128, Life: sequencer.Life{1}}
	for what, show := range map[string]func(m *Member, c wire.Claim) error{
		"attach": func(m *Member, c wire.Claim) error {
			_, err := m.serveAttach(m.ctx, wire.AttachRequest{Holder: "h", Claim: c})
			return err
		},
		"renewal": func(m *Member, c wire.Claim) error {
			return m.renewClaims(m.ctx, wire.RenewRequest{Holder: "h", Claims: []wire.Claim{c}}, []int{0})[0].Error.Unwire()
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startAlone(t)
				c := claim(ref, 1)
				c.Grid = roster.GridID{9}
				before := m.state.Roster()
				c.Until = partition.EarlierBound(before, m.clock.Now()) + 1
				err := show(m, c)
				time.Sleep(time.Second)
				if now := m.state.Roster().Version; err != nil || now != before.Version {
					t.Errorf("a grant that is not believed: %v, and the roster changes from version %d to %d", err, before.Version, now)
				}
				c.ID = sequencer.AttachmentID{7}
				c.Node = new(sequencer.NodeID(9))
				c.Until = partition.EarlierBound(before, m.clock.Now())
				if err := show(m, c); !errors.Is(err, sequencer.ErrUnavailable) {
					t.Errorf("a grant beyond the floor: %v", err)
				}
				time.Sleep(time.Second)
				for id, p := range m.state.Roster().Partitions {
					if p.Floor < c.Until || p.LostTerm != p.Term {
						t.Fatalf("partition %d has floor %d, want %d: %+v", id, p.Floor, c.Until, p)
					}
				}
				if err := show(m, c); err != nil {
					t.Errorf("a grant below the floor: %v", err)
				}
			})
		})
	}
}

// TestKnownWaitsForItsLife: a handle without a logical node is not told that its
// life goes on before the backup holds the life (O4).
func TestKnownWaitsForItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		l.holds(0)
		created := l.begin(func(ctx context.Context) error {
			_, err := l.m.serveCreate(ctx, wire.CreateRequest{Name: "orders", Epoch: new(int64(1)), Nodes: 128})
			return err
		})
		known := l.begin(func(ctx context.Context) error {
			c := wire.Claim{Sequencer: wire.SequencerOf(l.record().Ref), Grid: roster.GridID{1}, Version: l.m.state.Roster().Version}
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
func page(v roster.Version, at backup.Position, n int) wire.ReplicateRequest {
	name := []string{"invoices", "orders", "users"}[n]
	return wire.ReplicateRequest{
		Version: v, Position: at, Pages: 3, Page: n,
		Table: &wire.Table{Records: []wire.Record{{Sequencer: wire.Sequencer{Name: name, Epoch: 1, Nodes: 128}}}},
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
			page  wire.ReplicateRequest
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
			res, err := l.m.serveReplicate(t.Context(), step.page)
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
