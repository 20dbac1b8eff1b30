// Package orders stores rows with database/sql in PostgreSQL, MySQL and SQLite. The ID is a bigint there and a text
// with a prefix in JSON: order_06gs06be00200.
package orders

import (
	"context"
	"database/sql"
	"time"

	"github.com/snowgrid/snowgrid/idtext"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Schema creates the table.
const Schema = `CREATE TABLE orders (id bigint PRIMARY KEY, item varchar(100) NOT NULL)`

type kind struct{}

// Prefix implements [idtext.Prefix].
func (kind) Prefix() string { return "order" }

// OrderID is the ID of an order. A function for orders does not compile with the ID of a user.
type OrderID = idtext.Typed[kind]

// Order is a row.
type Order struct {
	ID   OrderID `json:"id"`
	Item string  `json:"item"`
}

// Statements are in the syntax of a database.
type Statements struct{ Insert, Between string }

// Numbered is for PostgreSQL, Unnumbered for MySQL and SQLite.
var (
	Numbered = Statements{
		Insert:  `INSERT INTO orders (id, item) VALUES ($1, $2)`,
		Between: `SELECT id, item FROM orders WHERE id BETWEEN $1 AND $2 ORDER BY id`,
	}
	Unnumbered = Statements{
		Insert:  `INSERT INTO orders (id, item) VALUES (?, ?)`,
		Between: `SELECT id, item FROM orders WHERE id BETWEEN ? AND ? ORDER BY id`,
	}
)

// InsertAll stores orders in one transaction.
func (s Statements) InsertAll(ctx context.Context, db *sql.DB, orders []Order) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after Commit
	insert, err := tx.PrepareContext(ctx, s.Insert)
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }()
	for _, o := range orders {
		if _, err := insert.ExecContext(ctx, o.ID, o.Item); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// SelectBetween returns the orders from one time to another, both included.
func (s Statements) SelectBetween(ctx context.Context, db *sql.DB, d sequencer.Definition, from, to time.Time) (
	orders []Order, err error,
) {
	rows, err := db.QueryContext(ctx, s.Between, d.MinID(from), d.MaxID(to))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var o Order
		if err := rows.Scan(&o.ID, &o.Item); err != nil {
			return nil, err
		}
		orders = append(orders, o)
	}
	return orders, rows.Err()
}
