package orders

import (
	"context"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/snowgrid/snowgrid/examples/databases/internal/example"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestOrders(t *testing.T) {
	server := sqltest.StartPostgres(t)
	db := bun.NewDB(server.Open(), pgdialect.New())
	if _, err := db.NewCreateTable().Model((*Order)(nil)).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	example.Shop[Order]{
		Row:    func(id sequencer.ID, item string) Order { return Order{ID: id, Item: item} },
		Insert: func(ctx context.Context, orders []Order) error { return Insert(ctx, db, orders) },
		Between: func(ctx context.Context, d sequencer.Definition, from, to time.Time) ([]Order, error) {
			return Between(ctx, db, d, from, to)
		},
	}.Check(t)
	example.CheckColumn(t, server.Open())
}
