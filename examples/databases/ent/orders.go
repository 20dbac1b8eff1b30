// Package orders stores rows with ent. The package schema describes the table, and the package generated is made of it.
package orders

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/examples/databases/ent/generated"
	"github.com/snowgrid/snowgrid/examples/databases/ent/generated/order"
	"github.com/snowgrid/snowgrid/sequencer"
)

//go:generate go run entgo.io/ent/cmd/ent@v0.14.5 generate --target ./generated ./schema
//go:generate rm -r ./generated/enttest ./generated/hook ./generated/runtime

// Order is a row, without the methods that ent generates.
type Order struct {
	ID   sequencer.ID
	Item string
}

// Insert stores orders with one statement.
func Insert(ctx context.Context, client *generated.Client, orders []Order) error {
	return client.Order.MapCreateBulk(orders, func(create *generated.OrderCreate, i int) {
		create.SetID(orders[i].ID).SetItem(orders[i].Item)
	}).Exec(ctx)
}

// Between returns the orders from one time to another, both included.
func Between(ctx context.Context, client *generated.Client, d sequencer.Definition, from, to time.Time) (
	[]Order, error,
) {
	rows, err := client.Order.Query().Where(order.IDGTE(d.MinID(from)), order.IDLTE(d.MaxID(to))).Order(order.ByID()).
		All(ctx)
	var orders []Order
	for _, row := range rows {
		orders = append(orders, Order{row.ID, row.Item})
	}
	return orders, err
}
