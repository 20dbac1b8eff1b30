package orders

import (
	"context"
	"database/sql"
	"encoding/json"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/snowgrid/snowgrid/examples/databases/internal/example"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestOrders(t *testing.T) {
	for _, c := range []struct {
		name       string
		open       func(t *testing.T) *sql.DB
		statements Statements
	}{
		{"PostgreSQL", func(t *testing.T) *sql.DB { return sqltest.StartPostgres(t).Open() }, Numbered},
		{"MariaDB", func(t *testing.T) *sql.DB { return sqltest.StartMariaDB(t).Open() }, Unnumbered},
		{"SQLite", func(t *testing.T) *sql.DB { return sqltest.OpenSQLite(t, "") }, Unnumbered},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := c.open(t)
			if _, err := db.ExecContext(t.Context(), Schema); err != nil {
				t.Fatal(err)
			}
			example.Shop[Order]{
				Row:    func(id sequencer.ID, item string) Order { return Order{OrderID(id), item} },
				Insert: func(ctx context.Context, orders []Order) error { return c.statements.InsertAll(ctx, db, orders) },
				Between: func(ctx context.Context, d sequencer.Definition, from, to time.Time) ([]Order, error) {
					return c.statements.SelectBetween(ctx, db, d, from, to)
				},
			}.Check(t)
		})
	}
}

// TestJSON: the ID has its prefix in JSON, and another prefix is refused.
func TestJSON(t *testing.T) {
	const text = `{"id":"order_06gs06be00200","item":"tea"}`
	got, err := json.Marshal(Order{ID: 235067008364840960, Item: "tea"})
	if err != nil || string(got) != text {
		t.Errorf("%s, %v, want %s", got, err, text)
	}
	var read Order
	if err := json.Unmarshal([]byte(text), &read); err != nil || read.ID != 235067008364840960 {
		t.Errorf("%+v, %v", read, err)
	}
	if err := json.Unmarshal([]byte(`{"id":"user_06gs06be00200"}`), &read); err == nil {
		t.Error("the ID of a user is accepted")
	}
}
