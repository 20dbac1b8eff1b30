package orders

import (
	"context"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowgrid/snowgrid/examples/databases/ent/generated"
	"github.com/snowgrid/snowgrid/examples/databases/internal/example"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestOrders(t *testing.T) {
	server := sqltest.StartPostgres(t)
	client := generated.NewClient(generated.Driver(entsql.OpenDB(dialect.Postgres, server.Open())))
	if err := client.Schema.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	example.Shop[Order]{
		Row:    func(id sequencer.ID, item string) Order { return Order{id, item} },
		Insert: func(ctx context.Context, orders []Order) error { return Insert(ctx, client, orders) },
		Between: func(ctx context.Context, d sequencer.Definition, from, to time.Time) ([]Order, error) {
			return Between(ctx, client, d, from, to)
		},
	}.Check(t)
	example.CheckColumn(t, server.Open())
}
