// Package orders stores rows with the code that sqlc generates from query.sql. The override in sqlc.yaml gives the
// column and its parameters the type [sequencer.ID].
package orders

import (
	"context"
	_ "embed"
	"time"

	"github.com/snowgrid/snowgrid/examples/databases/sqlc/generated"
	"github.com/snowgrid/snowgrid/sequencer"
)

//go:generate go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate

// Schema creates the table.
//
//go:embed schema.sql
var Schema string

// Between returns the orders from one time to another, both included.
func Between(ctx context.Context, db *generated.Queries, d sequencer.Definition, from, to time.Time) (
	[]generated.Order, error,
) {
	return db.OrdersBetween(ctx, generated.OrdersBetweenParams{Low: d.MinID(from), High: d.MaxID(to)})
}
