package sql_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	storesql "github.com/snowgrid/snowgrid/client/sql"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestUnsafeSettingsAreRefused: a client does not wait for a server that runs to have another
// setting; the error is one of the configuration, and names the setting.
func TestUnsafeSettingsAreRefused(t *testing.T) {
	s := storesql.New(sqltest.OpenSQLite(t, "&_pragma=synchronous(0)"), storesql.SQLite, "snowgrid")
	if err := s.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	began := time.Now()
	_, err := store.Open(ctx, s, store.Config{})
	if !errors.Is(err, sequencer.ErrInvalidConfig) || errors.Is(err, sequencer.ErrUnavailable) ||
		!strings.Contains(err.Error(), "synchronous = 0") || !strings.Contains(err.Error(), "set PRAGMA synchronous = FULL") {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	_, err = store.Open(ctx, storesql.New(sqltest.OpenSQLite(t, ""), storesql.SQLite, "no;table"), store.Config{})
	if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "no;table") {
		t.Errorf("a table that cannot be: %v", err)
	}
}
