package orders

import (
	"context"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowgrid/snowgrid/examples/databases/internal/example"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestOrders(t *testing.T) {
	server := sqltest.StartPostgres(t)
	db, err := gorm.Open(postgres.Open(server.DSN), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AutoMigrate(&Order{}); err != nil {
		t.Fatal(err)
	}
	example.Shop[Order]{
		Row:    func(id sequencer.ID, item string) Order { return Order{id, item} },
		Insert: func(ctx context.Context, orders []Order) error { return Insert(ctx, db, orders) },
		Between: func(ctx context.Context, d sequencer.Definition, from, to time.Time) ([]Order, error) {
			return Between(ctx, db, d, from, to)
		},
	}.Check(t)
	example.CheckColumn(t, server.Open())
}
