// Package orders divides a table of PostgreSQL into partitions by time. The ID is the key of the partitions, so the
// primary key needs no column for the time.
package orders

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Schema creates the table, without partitions.
const Schema = `CREATE TABLE orders (id bigint PRIMARY KEY, item text NOT NULL) PARTITION BY RANGE (id)`

// AddMonth creates the partition of a month, orders_2026_07, if there is none. A partition begins with the smallest
// ID of its month and ends before the smallest ID of the next one. It fails for months in which the sequencer has no
// IDs.
func AddMonth(ctx context.Context, conn *pgx.Conn, d sequencer.Definition, month time.Time) error {
	first := time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
	next := first.AddDate(0, 1, 0)
	end := d.MinID(next).String()
	if !next.Before(d.Exhausted()) {
		end = "MAXVALUE" // the last month has the last IDs
	}
	_, err := conn.Exec(ctx, fmt.Sprintf(
		"CREATE TABLE IF NOT EXISTS orders_%s PARTITION OF orders FOR VALUES FROM (%d) TO (%s)",
		first.Format("2006_01"), d.MinID(first), end))
	return err
}
