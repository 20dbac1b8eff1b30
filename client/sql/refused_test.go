package sql_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	storesql "github.com/snowgrid/snowgrid/client/sql"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// refused opens a store, which has to be refused without a retry, by an error with the given parts.
func refused(t *testing.T, s *storesql.Store, parts ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := store.Open(ctx, s, store.Config{Prefix: "p/", OnRetry: func(err error) {
		t.Errorf("Open waits for what no wait repairs: %v", err)
		cancel()
	}})
	if err == nil {
		_ = c.Close()
	}
	if !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("Open: %v, want sequencer.ErrInvalidConfig", err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("Open: %v, want %q in it", err, part)
		}
	}
}

// TestOpenWithoutTheTable: the error of Open names the table and CreateTable, and comes immediately.
func TestOpenWithoutTheTable(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *sql.DB, s *storesql.Store) {
		const remedy = "create the table with CreateTable, or by the statement of Schema in a migration"
		refused(t, storesql.New(db, s.Dialect(), "absent"), "table absent of "+s.Dialect().String(), remedy)
		if _, err := db.ExecContext(t.Context(), "DROP TABLE snowgrid"); err != nil {
			t.Fatal(err)
		}
		refused(t, s, "table snowgrid of "+s.Dialect().String(), remedy)
		if err := s.CreateTable(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = open(t, s, store.Config{})
	})
}

// TestOpenWithoutRights: a user who may not log in, read or write is refused immediately, with the remedy, and so is
// TLS that the server lacks.
func TestOpenWithoutRights(t *testing.T) {
	for name, d := range map[string]struct {
		dialect                    storesql.Dialect
		start                      func(t testing.TB, settings ...string) *sqltest.Server
		admin, database            string // in the DSN
		users                      []string
		denied, noUser, noDatabase string
	}{
		"PostgreSQL": {storesql.PostgreSQL, sqltest.StartPostgres, "tester@", "/postgres",
			[]string{"CREATE USER reader", "CREATE USER nobody", "GRANT SELECT ON snowgrid TO reader"},
			"permission denied for table snowgrid", `role "absent" does not exist`, `database "absent" does not exist`},
		"MariaDB": {storesql.MySQL, sqltest.StartMariaDB, "root@", "/mysql",
			[]string{"CREATE USER reader@'%'", "CREATE USER nobody@'%'", "GRANT SELECT ON mysql.snowgrid TO reader@'%'",
				"GRANT SELECT ON mysql.help_topic TO nobody@'%'"},
			"command denied to user", "Access denied for user 'absent'", "Unknown database 'absent'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := d.start(t)
			all := server.Open()
			if err := storesql.New(all, d.dialect, "snowgrid").CreateTable(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, statement := range d.users {
				if _, err := all.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			as := func(user, database, table string) *storesql.Store {
				other := *server
				other.DSN = strings.Replace(strings.Replace(server.DSN, d.admin, user+"@", 1), d.database, "/"+database, 1)
				return storesql.New(other.Open(), d.dialect, table)
			}
			admin, database := strings.TrimSuffix(d.admin, "@"), strings.TrimPrefix(d.database, "/")
			const rights = "let the database's user read the table, insert rows and update them"
			const login = "correct the user, the password or the database's name in the connection string"
			const tls = "; check the TLS settings of the store's client and the server's certificate"
			refused(t, as("reader", database, "snowgrid"), d.denied, rights)
			refused(t, as("nobody", database, "snowgrid"), d.denied, rights)
			refused(t, as("absent", database, "snowgrid"), d.noUser, login)
			refused(t, as(admin, "absent", "snowgrid"), d.noDatabase, login)
			if encrypted := *server; d.dialect == storesql.PostgreSQL {
				encrypted.DSN = strings.Replace(server.DSN, "sslmode=disable", "sslmode=require", 1)
				refused(t, storesql.New(encrypted.Open(), d.dialect, "snowgrid"), "server refused TLS connection", tls)
			} else {
				encrypted.DSN += "?tls=true"
				refused(t, storesql.New(encrypted.Open(), d.dialect, "snowgrid"), "server does not support TLS", tls)
			}
			for _, table := range []string{"other", "absent.other"} {
				err := as("nobody", database, table).CreateTable(t.Context())
				if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "run the statement of Schema") {
					t.Errorf("CreateTable of %s: %v", table, err)
				}
			}
		})
	}
	t.Run("SQLite", func(t *testing.T) {
		db := sqltest.OpenSQLite(t, "")
		s := storesql.New(db, storesql.SQLite, "snowgrid")
		if err := s.CreateTable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "PRAGMA query_only = ON"); err != nil {
			t.Fatal(err)
		}
		refused(t, s, "attempt to write a readonly database")
	})
}
