// Package orders stores rows with bun.
package orders

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Order is a row. db.NewCreateTable().Model((*Order)(nil)) creates the table.
type Order struct {
	bun.BaseModel `bun:"table:orders"`

	ID   sequencer.ID `bun:",pk,type:bigint"`
	Item string       `bun:",notnull"`
}

// Insert stores orders with one statement.
func Insert(ctx context.Context, db *bun.DB, orders []Order) error {
	_, err := db.NewInsert().Model(&orders).Exec(ctx)
	return err
}

// Between returns the orders from one time to another, both included.
func Between(ctx context.Context, db *bun.DB, d sequencer.Definition, from, to time.Time) ([]Order, error) {
	var orders []Order
	err := db.NewSelect().Model(&orders).Where("id BETWEEN ? AND ?", d.MinID(from), d.MaxID(to)).Order("id").Scan(ctx)
	return orders, err
}
