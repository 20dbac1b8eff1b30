package orders

import (
	"context"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestPartitions: each ID is in the partition of its month, and a query by time reads only the partitions of its
// months.
func TestPartitions(t *testing.T) {
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, sqltest.StartPostgres(t).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(ctx, Schema); err != nil {
		t.Fatal(err)
	}
	d, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.Default})
	if err != nil {
		t.Fatal(err)
	}
	months := []time.Time{
		day(2026, 1, 15), day(2026, 6, 1), day(2026, 7, 31), day(2026, 8, 1), day(2026, 12, 31), d.Exhausted(),
	}
	for _, month := range slices.Concat(months, months[:1]) {
		if err := AddMonth(ctx, conn, d, month); err != nil {
			t.Fatal(month, err)
		}
	}
	if err := AddMonth(ctx, conn, d, day(2025, 12, 1)); err == nil {
		t.Error("there is a partition before the epoch")
	}
	july, august := day(2026, 7, 1), day(2026, 8, 1)
	for _, id := range []sequencer.ID{0, d.MinID(july) - 1, d.MinID(july), d.MaxID(august.Add(-time.Millisecond)),
		d.MinID(august), d.MaxID(d.Exhausted())} {
		var partition string
		if err := conn.QueryRow(ctx, "INSERT INTO orders (id, item) VALUES ($1, 'tea') RETURNING tableoid::regclass::text",
			id).Scan(&partition); err != nil || partition != "orders_"+d.Decompose(id).Time.Format("2006_01") {
			t.Errorf("ID %v of %v is in partition %s: %v", id, d.Decompose(id).Time, partition, err)
		}
	}
	for _, c := range []struct {
		from, to time.Time
		want     []string
	}{
		{july, august.Add(-time.Millisecond), []string{"orders_2026_07"}},
		{july, august, []string{"orders_2026_07", "orders_2026_08"}},
		{day(2026, 12, 30), day(2026, 12, 31), []string{"orders_2026_12"}},
	} {
		if got := partitionsOf(t, conn, d.MinID(c.from), d.MaxID(c.to)); !slices.Equal(got, c.want) {
			t.Errorf("from %v to %v the plan reads %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

var partition = regexp.MustCompile(`orders_\d{4}_\d\d`)

// partitionsOf returns the partitions that the plan of a query reads.
func partitionsOf(t *testing.T, conn *pgx.Conn, low, high sequencer.ID) (found []string) {
	t.Helper()
	// As a simple query the plan has the values. As a prepared one, PostgreSQL leaves partitions out when it runs it.
	rows, err := conn.Query(t.Context(), "EXPLAIN SELECT * FROM orders WHERE id BETWEEN $1 AND $2",
		pgx.QueryExecModeSimpleProtocol, low, high)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if match := partition.FindString(line); match != "" {
			found = append(found, match)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
