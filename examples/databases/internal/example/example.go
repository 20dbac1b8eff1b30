//go:build unix

// Package example checks the examples on real servers.
package example

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// NewSequencer returns a sequencer whose records are in memory.
func NewSequencer(t testing.TB) *sequencer.Sequencer {
	t.Helper()
	c, err := store.Open(t.Context(), store.NewMemory(), store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	orders, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return orders
}

// Shop is an example: it stores rows, and reads the rows of a time range in the order of their IDs.
type Shop[Row comparable] struct {
	Row     func(id sequencer.ID, item string) Row
	Insert  func(ctx context.Context, rows []Row) error
	Between func(ctx context.Context, d sequencer.Definition, from, to time.Time) ([]Row, error)
}

// Check stores rows with new IDs and with IDs of an hour ago, and compares the rows of each time range with those
// stored.
func (s Shop[Row]) Check(t *testing.T) {
	t.Helper()
	ctx, orders := t.Context(), NewSequencer(t)
	d, ids := orders.Definition(), make([]sequencer.ID, 500)
	if _, err := orders.Fill(ctx, ids); err != nil {
		t.Fatal(err)
	}
	first, last := d.Decompose(ids[0]).Time, d.Decompose(ids[len(ids)-1]).Time
	var fresh, old []Row
	for i, id := range ids {
		fresh = append(fresh, s.Row(id, "tea"))
		hourAgo, err := d.Compose(sequencer.Parts{Time: first.Add(-time.Hour), Counter: uint32(i)})
		if err != nil {
			t.Fatal(err)
		}
		old = append(old, s.Row(hourAgo, "coffee"))
	}
	if err := s.Insert(ctx, slices.Concat(fresh, old)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to time.Time
		want     []Row
	}{
		{first, last, fresh},
		{first.Add(-time.Hour), first.Add(-time.Hour), old},
		{first.Add(-time.Hour + time.Millisecond), first.Add(-time.Millisecond), nil},
		{d.Config().Epoch.Time(), d.Exhausted(), slices.Concat(old, fresh)},
	} {
		got, err := s.Between(ctx, d, c.from, c.to)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("from %v to %v: %d rows, want %d: %v", c.from, c.to, len(got), len(c.want), err)
		}
	}
	if err := s.Insert(ctx, fresh[:1]); err == nil {
		t.Error("a row was stored twice: the ID is not the primary key")
	}
}

// CheckColumn wants the column of the IDs that a library has created to be a bigint, and the database to number no
// row.
func CheckColumn(t *testing.T, db *sql.DB) {
	t.Helper()
	var kind, identity string
	var byDefault sql.NullString
	if err := db.QueryRowContext(t.Context(), `SELECT data_type, is_identity, column_default FROM information_schema.columns
		WHERE table_name = 'orders' AND column_name = 'id'`).Scan(&kind, &identity, &byDefault); err != nil ||
		kind != "bigint" || identity != "NO" || byDefault.Valid {
		t.Errorf("the column has the type %s, identity %s, default %v: %v", kind, identity, byDefault, err)
	}
}
