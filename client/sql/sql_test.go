package sql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	storesql "github.com/snowgrid/snowgrid/client/sql"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/sqltest"
)

// databases are the three dialects, each over a real server or file.
var databases = []struct {
	name string
	open func(t *testing.T) (*sql.DB, storesql.Dialect)
}{
	{"PostgreSQL", func(t *testing.T) (*sql.DB, storesql.Dialect) {
		return sqltest.StartPostgres(t).Open(), storesql.PostgreSQL
	}},
	{"MariaDB", func(t *testing.T) (*sql.DB, storesql.Dialect) { return sqltest.StartMariaDB(t).Open(), storesql.MySQL }},
	{"SQLite", func(t *testing.T) (*sql.DB, storesql.Dialect) { return sqltest.OpenSQLite(t, ""), storesql.SQLite }},
}

// eachDatabase runs a test over a new table of each dialect.
func eachDatabase(t *testing.T, test func(t *testing.T, db *sql.DB, s *storesql.Store)) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			db, dialect := d.open(t)
			s := storesql.New(db, dialect, "snowgrid")
			for range 2 { // creating it again changes nothing
				if err := s.CreateTable(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			test(t, db, s)
		})
	}
}

// TestTableIsCreatedBySeveral: services that start together create the table at the same time.
func TestTableIsCreatedBySeveral(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *sql.DB, s *storesql.Store) {
		for round := range 10 {
			table := storesql.New(db, s.Dialect(), fmt.Sprintf("t%d", round))
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if err := table.CreateTable(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
	})
}

// TestSwap: a write replaces exactly the revision that it names.
func TestSwap(t *testing.T) {
	eachDatabase(t, func(t *testing.T, _ *sql.DB, s *storesql.Store) {
		ctx := t.Context()
		if _, err := s.Load(ctx, "a"); !errors.Is(err, store.ErrNoRecord) {
			t.Fatalf("a key that is not there: %v", err)
		}
		first, err := s.Swap(ctx, store.Entry{Key: "a", Body: []byte("1")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Swap(ctx, store.Entry{Key: "a", Body: []byte("2")}); !errors.Is(err, store.ErrChanged) {
			t.Errorf("created twice: %v", err)
		}
		second, err := s.Swap(ctx, store.Entry{Key: "a", Body: []byte("3"), Revision: first})
		if err != nil || second == first {
			t.Fatalf("revision %q after %q: %v", second, first, err)
		}
		for _, revision := range []store.Revision{first, "1", "x"} {
			if _, err := s.Swap(ctx, store.Entry{Key: "a", Body: []byte("4"), Revision: revision}); !errors.Is(err,
				store.ErrChanged) {
				t.Errorf("a swap of revision %q: %v", revision, err)
			}
		}
		if _, err := s.Swap(ctx, store.Entry{Key: "b", Body: []byte("5"), Revision: first}); !errors.Is(err,
			store.ErrChanged) {
			t.Errorf("a swap of a key that is not there: %v", err)
		}
		e, err := s.Load(ctx, "a")
		if err != nil || string(e.Body) != "3" || e.Revision != second || e.Key != "a" {
			t.Errorf("loaded %+v, %v", e, err)
		}
	})
}

// TestRaces: of many swaps of one revision one is done, and counts as done.
func TestRaces(t *testing.T) {
	eachDatabase(t, func(t *testing.T, _ *sql.DB, s *storesql.Store) {
		var revision store.Revision
		for round := range 20 {
			var done []store.Revision
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					got, err := s.Swap(t.Context(), store.Entry{Key: "race", Body: []byte{byte(i + 1)}, Revision: revision})
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						done = append(done, got)
					case !errors.Is(err, store.ErrChanged):
						t.Logf("outcome not known: %v", err)
					}
				})
			}
			all.Wait()
			e, err := s.Load(t.Context(), "race")
			if err != nil || len(done) != 1 || e.Revision != done[0] {
				t.Fatalf("round %d: swaps done %q, revision %q, %v", round, done, e.Revision, err)
			}
			revision = e.Revision
		}
	})
}

// TestGenerationIsCompared: a swap in another generation than the server's is refused, of
// a new key and of an old one.
func TestGenerationIsCompared(t *testing.T) {
	eachDatabase(t, func(t *testing.T, _ *sql.DB, s *storesql.Store) {
		ctx := t.Context()
		generation, lossy, err := s.Generation(ctx)
		if err != nil || lossy {
			t.Fatalf("generation %q, lossy %v, %v", generation, lossy, err)
		}
		if _, err := s.SwapIn(ctx, store.Entry{Key: "a", Body: []byte("1")}, "x"); generation == "" ||
			!errors.Is(err, store.ErrChanged) {
			t.Fatalf("created in another generation than %q: %v", generation, err)
		}
		r, err := s.SwapIn(ctx, store.Entry{Key: "a", Body: []byte("1")}, generation)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.SwapIn(ctx, store.Entry{Key: "a", Body: []byte("2"), Revision: r}, "x"); !errors.Is(err,
			store.ErrChanged) {
			t.Errorf("swapped in another generation: %v", err)
		}
		if _, err := s.SwapIn(ctx, store.Entry{Key: "a", Body: []byte("2"), Revision: r}, generation); err != nil {
			t.Error(err)
		}
	})
}

// TestBadInput: each error names the value and the limit, and nothing is written.
func TestBadInput(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *sql.DB, s *storesql.Store) {
		ctx := t.Context()
		for _, c := range []struct {
			e    store.Entry
			says string
		}{
			{store.Entry{Body: []byte("x")}, "key of 0 bytes: give 1 to 1000"},
			{store.Entry{Key: strings.Repeat("k", 1001), Body: []byte("x")}, "key of 1001 bytes"},
			{store.Entry{Key: "a"}, "body of 0 bytes"},
			{store.Entry{Key: "a", Body: make([]byte, 64<<10+1)}, "body of 65537 bytes"},
		} {
			if _, err := s.Swap(ctx, c.e); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		}
		for _, table := range []string{"", "a b", `a"; DROP TABLE x; --`, "a.b.c", "1a", strings.Repeat("t", 64)} {
			err := storesql.New(db, storesql.SQLite, table).CreateTable(ctx)
			if err == nil || !strings.Contains(err.Error(), "letters, digits and underscores") {
				t.Errorf("table %q: %v", table, err)
			}
		}
		if err := storesql.New(db, storesql.Dialect(7), "t").CreateTable(ctx); err == nil ||
			!strings.Contains(err.Error(), "dialect 7") {
			t.Errorf("dialect 7: %v", err)
		}
		if _, err := storesql.New(nil, storesql.SQLite, "t").Load(ctx, "a"); err == nil ||
			!strings.Contains(err.Error(), "nil") {
			t.Errorf("no database: %v", err)
		}
		ended, cancel := context.WithTimeout(ctx, -time.Second)
		defer cancel()
		if _, err := s.Load(ended, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an ended context: %v", err)
		}
	})
}

// TestLockedTable: the error of a call that waits for another session's lock names the lock.
func TestLockedTable(t *testing.T) {
	lock := map[storesql.Dialect]string{
		storesql.PostgreSQL: "BEGIN; LOCK TABLE snowgrid", storesql.MySQL: "LOCK TABLES snowgrid WRITE",
		storesql.SQLite: "BEGIN EXCLUSIVE",
	}
	eachDatabase(t, func(t *testing.T, db *sql.DB, s *storesql.Store) {
		other, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close() }()
		if _, err := other.ExecContext(t.Context(), lock[s.Dialect()]); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err = s.Swap(ctx, store.Entry{Key: "a", Body: []byte("x")}); err == nil ||
			!strings.Contains(err.Error(), "locked") {
			t.Error(err)
		}
	})
}

// TestListOfManyKeys: a prefix has its own keys only, in order, however many.
func TestListOfManyKeys(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *sql.DB, s *storesql.Store) {
		ctx := t.Context()
		for _, key := range []string{"p/b", "p/a", "p%2F/x", "p", "q", "P/a", "p_a", "pé/ü"} {
			if _, err := s.Swap(ctx, store.Entry{Key: key, Body: []byte(key)}); err != nil {
				t.Fatal(key, err)
			}
		}
		for prefix, want := range map[string]string{"p/": "p/a p/b", "p%": "p%2F/x", "p_": "p_a", "pé/": "pé/ü", "x": "",
			"": "P/a p p%2F/x p/a p/b p_a pé/ü q"} {
			found, err := s.List(ctx, prefix)
			var keys []string
			for _, e := range found {
				keys = append(keys, e.Key)
				if string(e.Body) != e.Key || e.Revision == "" {
					t.Errorf("listed %+v", e)
				}
			}
			if got := strings.Join(keys, " "); got != want || err != nil {
				t.Errorf("prefix %q: %q, %v, want %q", prefix, got, err, want)
			}
		}
	})
}
