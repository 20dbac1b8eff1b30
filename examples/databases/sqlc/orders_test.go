package orders

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/snowgrid/snowgrid/examples/databases/internal/example"
	"github.com/snowgrid/snowgrid/examples/databases/sqlc/generated"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestOrders(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), sqltest.StartPostgres(t).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	db := generated.New(conn)
	for name, insert := range map[string]func(context.Context, []generated.Order) error{
		"COPY": func(ctx context.Context, orders []generated.Order) error {
			var rows []generated.InsertOrdersParams
			for _, o := range orders {
				rows = append(rows, generated.InsertOrdersParams(o))
			}
			_, err := db.InsertOrders(ctx, rows)
			return err
		},
		"batch": func(ctx context.Context, orders []generated.Order) (failed error) {
			var rows []generated.InsertOrderBatchParams
			for _, o := range orders {
				rows = append(rows, generated.InsertOrderBatchParams(o))
			}
			db.InsertOrderBatch(ctx, rows).Exec(func(_ int, err error) { failed = errors.Join(failed, err) })
			return failed
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := conn.Exec(t.Context(), "DROP TABLE IF EXISTS orders; "+Schema); err != nil {
				t.Fatal(err)
			}
			example.Shop[generated.Order]{
				Row:    func(id sequencer.ID, item string) generated.Order { return generated.Order{ID: id, Item: item} },
				Insert: insert,
				Between: func(ctx context.Context, d sequencer.Definition, from, to time.Time) ([]generated.Order, error) {
					return Between(ctx, db, d, from, to)
				},
			}.Check(t)
		})
	}
}
