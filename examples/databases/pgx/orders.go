// Package orders stores rows with pgx: in batches, and by COPY. A [sequencer.ID] is a parameter and a field like an
// int64.
package orders

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Schema creates the table.
const Schema = `CREATE TABLE orders (id bigint PRIMARY KEY, item text NOT NULL)`

// Order is a row.
type Order struct {
	ID   sequencer.ID
	Item string
}

// InsertBatch stores orders in one round trip. A batch is one transaction.
func InsertBatch(ctx context.Context, conn *pgx.Conn, orders []Order) error {
	batch := &pgx.Batch{}
	for _, o := range orders {
		batch.Queue(`INSERT INTO orders (id, item) VALUES ($1, $2)`, o.ID, o.Item)
	}
	return conn.SendBatch(ctx, batch).Close()
}

// Copy stores many orders.
func Copy(ctx context.Context, conn *pgx.Conn, orders []Order) error {
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id", "item"},
		pgx.CopyFromSlice(len(orders), func(i int) ([]any, error) { return []any{orders[i].ID, orders[i].Item}, nil }))
	return err
}

// Between returns the orders from one time to another, both included.
func Between(ctx context.Context, conn *pgx.Conn, d sequencer.Definition, from, to time.Time) ([]Order, error) {
	rows, err := conn.Query(ctx, `SELECT id, item FROM orders WHERE id BETWEEN $1 AND $2 ORDER BY id`,
		d.MinID(from), d.MaxID(to))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Order])
}
