// Package sql keeps the records of package store in a table of a database that the
// user runs: PostgreSQL, MySQL or MariaDB, or SQLite. It takes the user's *sql.DB, with
// the service's driver, credentials, TLS and pool.
//
//	records := sql.New(db, sql.PostgreSQL, "snowgrid")
//	err := records.CreateTable(ctx)
//	c, err := store.Open(ctx, records, store.Config{})
//	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
//
// # What it needs of the database
//
// Each read and each write is one statement in a transaction of its own, and a write
// compares the revision in the same statement (UPDATE ... WHERE revision = ...). That is
// a compare-and-swap at every isolation level: a server that finds the row changed
// meanwhile either sees the new revision or fails the statement. The connections must be
// to the primary server and must commit each statement (autocommit).
//
// An acknowledged write must survive a crash. Before its first write the store asks how
// the server is set up, and refuses a server that gives this up with the setting's name:
// fsync or synchronous_commit off (PostgreSQL), innodb_flush_log_at_trx_commit other
// than 1 (MySQL), synchronous below FULL (SQLite).
//
// SQLite has one writer at a time, and no queue for waiting ones: under load a
// connection can fail with "database is locked" for longer than its busy timeout. Give
// the store a *sql.DB of its own, in WAL mode and with one connection, so that the
// writes of a process wait in the pool's queue:
//
//	db, err := sql.Open("sqlite", "file:ids.db?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
//	db.SetMaxOpenConns(1)
//
// A pool keeps two idle connections unless db.SetMaxIdleConns raises that. With many
// sequencers in a process most calls then open a connection each, for which a server
// such as PostgreSQL starts a process.
//
// # Failover
//
// A replica that takes the primary's place may lack acknowledged writes, unless
// replication is synchronous. Such a store then gives equal IDs unless it waits; see
// [Store.Generation]. [store.Config].FailoverBound limits the time in which the replaced server may
// continue to acknowledge writes, and [store.Open] refuses to start without it.
package sql

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Limits of the table.
const (
	maxKeyBytes  = 1000
	maxBodyBytes = 64 << 10
)

// Store is a table of records. Its methods may be called concurrently.
type Store struct {
	db      *sql.DB
	dialect Dialect
	table   string // as given
	text    statements
	alone   bool // the user stated that no other server takes its place
	checked *atomic.Bool
	file    *atomic.Pointer[sqliteFile] // nil in it before the first check, and for other databases
}

var (
	_ store.Store       = (*Store)(nil)
	_ store.Generations = (*Store)(nil)
)

// New returns the store in a table, which [Store.CreateTable] creates. The table is a
// name of letters, digits and underscores, with at most one dot after a schema. An
// invalid name or dialect is reported by the first call.
func New(db *sql.DB, dialect Dialect, table string) *Store {
	return &Store{
		db: db, dialect: dialect, table: table, text: dialect.statements(table), checked: &atomic.Bool{},
		file: &atomic.Pointer[sqliteFile]{},
	}
}

// String names the store in messages.
func (s *Store) String() string { return fmt.Sprintf("%v table %s", s.dialect, s.table) }

// Dialect returns the kind of the database.
func (s *Store) Dialect() Dialect { return s.dialect }

// WithoutFailover returns the store with the user's statement that no other server ever
// takes the place of this one, or only one with every acknowledged write. Then
// store.Config.FailoverBound is not needed.
func (s *Store) WithoutFailover() *Store {
	alone := *s
	alone.alone = true
	return &alone
}

// CreateTable creates the table unless it exists. A service whose database user may not
// create tables runs the statement of [Store.Schema] by its migrations.
func (s *Store) CreateTable(ctx context.Context) error {
	if err := s.usable(); err != nil {
		return err
	}
	_, err := s.db.ExecContext(ctx, s.text.create)
	if err != nil { // PostgreSQL refuses all but one of several that create it at the same time
		_, err = s.db.ExecContext(ctx, s.text.create)
	}
	if err != nil {
		return s.failed(createTable, "", err)
	}
	return nil
}

// Schema returns the statement that creates the table.
func (s *Store) Schema() string { return s.text.create }

// Load implements [store.Store].
func (s *Store) Load(ctx context.Context, key string) (store.Entry, error) {
	if err := cmp.Or(s.usable(), s.replaced()); err != nil {
		return store.Entry{}, err
	}
	e := store.Entry{Key: key}
	err := s.db.QueryRowContext(ctx, s.text.load, key).Scan(&e.Body, &e.Revision)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return store.Entry{}, fmt.Errorf("sql: load %q from %s: %w", key, s.table, store.ErrNoRecord)
	case err != nil:
		return store.Entry{}, s.failed("load", key, err)
	}
	return e, nil
}

// Swap implements [store.Store].
func (s *Store) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	return s.swap(ctx, e, s.text.insert, s.text.update)
}

// SwapIn implements [store.Generations]. The server compares its generation in the
// statement that writes.
func (s *Store) SwapIn(ctx context.Context, e store.Entry, generation string) (store.Revision, error) {
	return s.swap(ctx, e, s.text.insertIn, s.text.updateIn, generation)
}

// swap runs the statement for a new key or for an old one. Arguments are the key, the
// body, the new revision, the replaced one for an old key, and the given ones.
func (s *Store) swap(ctx context.Context, e store.Entry, insert, update string, more ...any) (store.Revision, error) {
	if err := errors.Join(s.usable(), checkEntry(e), s.replaced()); err != nil {
		return "", err
	}
	if err := s.check(ctx); err != nil {
		return "", err
	}
	revision := store.Revision(rand.Text()) // that no other write has
	text, args := insert, []any{e.Key, e.Body, string(revision)}
	if e.Revision != "" {
		text, args = update, append(args, string(e.Revision))
	}
	result, err := s.db.ExecContext(ctx, text, append(args, more...)...)
	if err != nil {
		return "", s.failed("swap", e.Key, err)
	}
	if n, err := result.RowsAffected(); err == nil && n > 0 && e.Revision != "" {
		return revision, nil
	}
	return s.settle(ctx, e, revision)
}

// settle tells whether a statement that has ended wrote its row. It does so by the
// revision, which no other write has: drivers count rows differently when a key exists,
// and database/sql sends a statement again after some errors.
func (s *Store) settle(ctx context.Context, e store.Entry, revision store.Revision) (store.Revision, error) {
	have, err := s.Load(ctx, e.Key)
	switch {
	case err == nil && have.Revision == revision:
		return revision, nil
	case err == nil:
		return "", fmt.Errorf("sql: swap %q in %s: at revision %q, not %q: %w", e.Key, s.table, have.Revision, e.Revision,
			store.ErrChanged)
	case errors.Is(err, store.ErrNoRecord):
		return "", fmt.Errorf("sql: swap %q in %s: no such row, or another server answers: %w", e.Key, s.table,
			store.ErrChanged)
	}
	return "", err
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	if err := cmp.Or(s.usable(), s.replaced()); err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(ctx, s.text.list, prefix, prefix)
	if err != nil {
		return nil, s.failed("list", prefix, err)
	}
	defer func() { _ = rows.Close() }()
	var all []store.Entry
	for rows.Next() {
		var e store.Entry
		if err := rows.Scan(&e.Key, &e.Body, &e.Revision); err != nil {
			return nil, s.failed("list", prefix, err)
		}
		all = append(all, e)
	}
	if err := rows.Err(); err != nil {
		return nil, s.failed("list", prefix, err)
	}
	return all, nil
}

// usable returns an error for a store that was made with invalid arguments.
func (s *Store) usable() error {
	switch {
	case s.db == nil:
		return failure.Errorf(sequencer.ErrInvalidConfig, "sql: the *sql.DB is nil; open the database first")
	case s.dialect < PostgreSQL || s.dialect > SQLite:
		return failure.Errorf(sequencer.ErrInvalidConfig, "sql: dialect %d is unknown; use PostgreSQL, MySQL or SQLite",
			int(s.dialect))
	}
	return CheckTable(s.table)
}

// CheckTable returns the error of the first call of a store in a table with an invalid name. It matches
// [sequencer.ErrInvalidConfig].
func CheckTable(name string) error {
	if tableName.MatchString(name) {
		return nil
	}
	return failure.Errorf(sequencer.ErrInvalidConfig,
		"sql: table %q: give a name of letters, digits and underscores, with at most one dot after a schema", name)
}

var tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// checkEntry returns an error for an entry that the table has no room for.
func checkEntry(e store.Entry) error {
	switch {
	case e.Key == "" || len(e.Key) > maxKeyBytes:
		return fmt.Errorf("sql: key of %d bytes: give 1 to %d", len(e.Key), maxKeyBytes)
	case len(e.Body) == 0 || len(e.Body) > maxBodyBytes:
		return fmt.Errorf("sql: body of %d bytes for key %q: give 1 to %d", len(e.Body), e.Key, maxBodyBytes)
	}
	return nil
}

// failed names an operation and its key in an error of the database. An error that no wait repairs matches
// sequencer.ErrInvalidConfig.
func (s *Store) failed(operation, key string, err error) error {
	of := refusals
	if operation == createTable {
		of = []refusal{notCreated, noLogin}
	}
	remedy := ""
	if i := slices.IndexFunc(of, func(r refusal) bool { return s.dialect.is(err, r) }); i >= 0 {
		remedy = of[i].remedy
	}
	if key != "" {
		operation = fmt.Sprintf("%s %q", operation, key)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("sql: %s: table %s of %s: no answer: %w; check that the database is reachable and the table not "+
			"locked",
			operation, s.table, s.dialect, err)
	}
	if remedy != "" {
		return failure.Errorf(sequencer.ErrInvalidConfig, "sql: %s: table %s of %s: %w; %s", operation, s.table, s.dialect,
			err, remedy)
	}
	return fmt.Errorf("sql: %s: table %s of %s: %w", operation, s.table, s.dialect, err)
}

// createTable is the operation of CreateTable in errors.
const createTable = "create table"
