package sql_test

import (
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"

	storesql "github.com/snowgrid/snowgrid/client/sql"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/sqltest"
)

// sqliteFileOf returns the path of a database's file.
func sqliteFileOf(t *testing.T, db *sql.DB) (path string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list").Scan(&path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSQLiteFileThatIsNoLongerAtItsPath: a file that was moved or removed while a connection has it open is an error of
// every operation, since another process creates another store at its path. It is usable again once it is back.
func TestSQLiteFileThatIsNoLongerAtItsPath(t *testing.T) {
	db := sqltest.OpenSQLite(t, "")
	for _, table := range []string{"snowgrid", "Main.ids"} {
		s := storesql.New(db, storesql.SQLite, table)
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		check(s.CreateTable(t.Context()))
		e := store.Entry{Key: "orders/0.json", Body: []byte("{}")}
		var err error
		e.Revision, err = s.Swap(t.Context(), e)
		check(err)
		refused := func(when string) {
			t.Helper()
			alone := s.WithoutFailover()
			_, loaded := s.Load(t.Context(), e.Key)
			_, swapped := alone.Swap(t.Context(), e)
			_, swappedIn := alone.SwapIn(t.Context(), e, "file")
			_, listed := s.List(t.Context(), "orders/")
			for _, err := range []error{loaded, swapped, swappedIn, listed} {
				if err == nil || errors.Is(err, store.ErrNoRecord) || errors.Is(err, store.ErrChanged) ||
					!strings.Contains(err.Error(), "removed or replaced") {
					t.Errorf("%s, table %s: %v", when, table, err)
				}
			}
		}
		path := sqliteFileOf(t, db)
		check(os.Rename(path, path+"-away"))
		refused("moved away")
		check(os.WriteFile(path, nil, 0o600))
		refused("another one at its path")
		check(os.Remove(path))
		check(os.Rename(path+"-away", path))
		if have, err := s.Load(t.Context(), e.Key); err != nil || have.Revision != e.Revision {
			t.Errorf("put back, table %s: %+v, %v", table, have, err)
		}
		_, err = s.Swap(t.Context(), e)
		check(err)
	}
}

// TestSQLiteInMemory: a database without a file works.
func TestSQLiteInMemory(t *testing.T) {
	db, err := sql.Open("sqlite", "file::memory:?_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	s := storesql.New(db, storesql.SQLite, "snowgrid")
	if err := s.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Swap(t.Context(), store.Entry{Key: "a", Body: []byte("{}")}); err != nil {
		t.Error(err)
	}
}
