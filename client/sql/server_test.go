package sql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	storesql "github.com/snowgrid/snowgrid/client/sql"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/sqltest"
)

// TestServerThatForgets: a server that may lose acknowledged writes when it crashes is
// refused by the name of its setting, before anything is written.
func TestServerThatForgets(t *testing.T) {
	for name, c := range map[string]struct {
		dialect storesql.Dialect
		open    func(t *testing.T) *sql.DB
		says    string
	}{
		"PostgreSQL without fsync": {storesql.PostgreSQL,
			func(t *testing.T) *sql.DB { return sqltest.StartPostgres(t, "fsync=off").Open() }, "fsync = off"},
		"PostgreSQL that does not wait": {storesql.PostgreSQL, func(t *testing.T) *sql.DB {
			return sqltest.StartPostgres(t,
				"synchronous_commit=off").Open()
		}, "synchronous_commit = off"},
		"MariaDB that flushes by second": {storesql.MySQL, func(t *testing.T) *sql.DB {
			return sqltest.StartMariaDB(t,
				"innodb-flush-log-at-trx-commit=2").Open()
		}, "innodb_flush_log_at_trx_commit = 2"},
		"SQLite that does not wait": {storesql.SQLite,
			func(t *testing.T) *sql.DB { return sqltest.OpenSQLite(t, "&_pragma=synchronous(0)") }, "synchronous = 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storesql.New(c.open(t), c.dialect, "snowgrid")
			if err := s.CreateTable(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := s.Swap(t.Context(), store.Entry{Key: "a", Body: []byte("x")})
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "set") {
				t.Errorf("a swap: %v, want %q and a remedy", err, c.says)
			}
			if _, err := s.Load(t.Context(), "a"); !errors.Is(err, store.ErrNoRecord) {
				t.Errorf("it was written all the same: %v", err)
			}
		})
	}
}

// TestConnectionWithoutAutocommit: writes that no statement commits are refused.
func TestConnectionWithoutAutocommit(t *testing.T) {
	server := sqltest.StartMariaDB(t)
	server.DSN += "?autocommit=0"
	_, err := storesql.New(server.Open(), storesql.MySQL, "snowgrid").Swap(t.Context(),
		store.Entry{Key: "a", Body: []byte("x")})
	if err == nil || !strings.Contains(err.Error(), "autocommit = 0") {
		t.Errorf("a swap without autocommit: %v", err)
	}
}

// TestPromotionIsANewGeneration: a standby that is promoted has another generation than
// the server that it replaces, immediately, and swaps in the old one are refused there.
func TestPromotionIsANewGeneration(t *testing.T) {
	ctx := t.Context()
	primary := sqltest.StartPostgres(t)
	s := storesql.New(primary.Open(), storesql.PostgreSQL, "snowgrid")
	if err := s.CreateTable(ctx); err != nil {
		t.Fatal(err)
	}
	old, lossy, err := s.Generation(ctx)
	if err != nil || lossy {
		t.Fatalf("a lone server: generation %q, lossy %v, %v", old, lossy, err)
	}
	r, err := s.SwapIn(ctx, store.Entry{Key: "a", Body: []byte("1")}, old)
	if err != nil {
		t.Fatal(err)
	}
	standby, copied := startStandby(t, primary), storesql.New(nil, storesql.PostgreSQL, "snowgrid")
	await(t, func() bool { _, lossy, err = s.Generation(ctx); return lossy },
		func() string { return fmt.Sprint("a connected standby is lossy: ", err) })
	if _, lossy, err := s.WithoutFailover().Generation(ctx); lossy || err != nil {
		t.Errorf("lossy %v in spite of the user's statement; %v", lossy, err)
	}
	copied = storesql.New(standby.Open(), storesql.PostgreSQL, "snowgrid")
	await(t, func() bool { _, err = copied.Load(ctx, "a"); return err == nil },
		func() string { return fmt.Sprint("the standby has the row: ", err) })
	if id, _, err := copied.Generation(ctx); err == nil {
		t.Errorf("a standby names the generation %q", id)
	}
	primary.Kill()
	promote := sqltest.PostgresProgram("pg_ctl", "-D", standby.Dir, "promote", "-w")
	if out, err := promote.CombinedOutput(); err != nil {
		t.Fatalf("pg_ctl promote: %v\n%s", err, out)
	}
	now, _, err := copied.Generation(ctx)
	if err != nil || now == old {
		t.Fatalf("generation %q before, %q after: %v", old, now, err)
	}
	if _, err := copied.SwapIn(ctx, store.Entry{Key: "a", Body: []byte("2"), Revision: r}, old); !errors.Is(err,
		store.ErrChanged) {
		t.Errorf("swapped in the generation of the replaced server: %v", err)
	}
	if _, err := copied.SwapIn(ctx, store.Entry{Key: "a", Body: []byte("2"), Revision: r}, now); err != nil {
		t.Error(err)
	}
}

// startStandby runs a copy of a server that follows it.
func startStandby(t *testing.T, primary *sqltest.Server) *sqltest.Server {
	t.Helper()
	dir := sqltest.PostgresDir(t)
	backup := sqltest.PostgresProgram("pg_basebackup", "-D", dir, "-h", "127.0.0.1", "-p", fmt.Sprint(primary.Port),
		"-U", "tester", "-R", "-X", "stream", "--no-sync", "-c", "fast")
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	return sqltest.RunPostgres(t, dir)
}

// await calls ok until it is true, for a time that no healthy server needs.
func await(t *testing.T, ok func() bool, what func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !ok() {
		if ctx.Err() != nil {
			t.Fatalf("not seen after 30 s: %s", what())
		}
		time.Sleep(10 * time.Millisecond) // a server in another process gives no event
	}
}
