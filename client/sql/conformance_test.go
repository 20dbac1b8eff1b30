package sql_test

import (
	"context"
	"database/sql"
	"testing"

	storesql "github.com/snowgrid/snowgrid/client/sql"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/client/store/storetest"
)

// deletable is a store whose rows an operator deletes.
type deletable struct {
	*storesql.Store
	db    *sql.DB
	query string
}

// Delete implements storetest.Deleter.
func (d deletable) Delete(ctx context.Context, key string) error {
	_, err := d.db.ExecContext(ctx, d.query, key)
	return err
}

// TestConformance: each dialect keeps the promises of a store.
func TestConformance(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *sql.DB, s *storesql.Store) {
		query := "DELETE FROM snowgrid WHERE record_key = ?"
		if _, lossy, err := s.Generation(t.Context()); lossy || err != nil {
			t.Fatalf("a server without replicas is lossy: %v, %v", lossy, err)
		}
		if s.Dialect() == storesql.PostgreSQL {
			query = "DELETE FROM snowgrid WHERE record_key = $1"
		}
		storetest.Run(t, func() store.Store { return deletable{s, db, query} })
	})
}
