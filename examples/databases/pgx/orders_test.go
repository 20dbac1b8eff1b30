package orders

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowgrid/snowgrid/examples/databases/internal/example"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestOrders(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), sqltest.StartPostgres(t).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for name, insert := range map[string]func(context.Context, *pgx.Conn, []Order) error{
		"batch": InsertBatch, "COPY": Copy,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := conn.Exec(t.Context(), "DROP TABLE IF EXISTS orders; "+Schema); err != nil {
				t.Fatal(err)
			}
			example.Shop[Order]{
				Row:    func(id sequencer.ID, item string) Order { return Order{id, item} },
				Insert: func(ctx context.Context, orders []Order) error { return insert(ctx, conn, orders) },
				Between: func(ctx context.Context, d sequencer.Definition, from, to time.Time) ([]Order, error) {
					return Between(ctx, conn, d, from, to)
				},
			}.Check(t)
		})
	}
}
