package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver sqlite

	records "github.com/snowgrid/snowgrid/client/sql"
)

// defaultTable is the table without a parameter table.
const defaultTable = "snowgrid"

// The parameters in a database URL that the driver does not use.
const (
	paramTable      = "table"       // the records' table, which is created
	paramNoFailover = "no_failover" // true: no other server ever replaces this one
)

// openPostgres opens a database with the driver pgx, which reads the rest of the URL.
func openPostgres(ctx context.Context, f storeFlags, scheme, rest string) (opened, error) {
	rest, own, err := ownParams(rest)
	if err != nil {
		return opened{}, err
	}
	cfg, err := pgx.ParseConfig(scheme + ":" + rest)
	if err != nil {
		// its text may contain the password
		return opened{}, usagef("the driver cannot read the URL; write postgres://USER:PASSWORD@HOST:5432/DATABASE")
	}
	name := fmt.Sprintf("postgres://%s:%d/%s", cfg.Host, cfg.Port, cfg.Database)
	return f.openTable(ctx, stdlib.OpenDB(*cfg), records.PostgreSQL, own, name)
}

// openMySQL opens a MySQL or MariaDB database.
func openMySQL(ctx context.Context, f storeFlags, _, rest string) (opened, error) {
	rest, own, err := ownParams(rest)
	if err != nil {
		return opened{}, err
	}
	a, err := parseAddress(rest, nil)
	if err != nil {
		return opened{}, err
	}
	if len(a.hosts) != 1 || a.path == "" {
		return opened{}, usagef("write mysql://USER:PASSWORD@HOST:3306/DATABASE, with one host")
	}
	host := a.hosts[0]
	if !strings.Contains(strings.TrimPrefix(host, "["), ":") || strings.HasSuffix(host, "]") {
		host += ":3306"
	}
	cfg, err := mysql.ParseDSN("tcp(" + host + ")/?" + a.query.Encode())
	if err != nil {
		return opened{}, usagef("the driver refuses the URL: %w", err)
	}
	cfg.DBName = a.path
	if a.user != nil {
		cfg.User = a.user.Username()
		cfg.Passwd, _ = a.user.Password()
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return opened{}, usagef("the driver refuses the URL: %w", err)
	}
	return f.openTable(ctx, sql.OpenDB(connector), records.MySQL, own, "mysql://"+host+"/"+cfg.DBName)
}

// openSQLite opens a file: sqlite:FILE.
func openSQLite(ctx context.Context, f storeFlags, _, rest string) (opened, error) {
	rest, own, err := ownParams(rest)
	if err != nil {
		return opened{}, err
	}
	file, query, _ := strings.Cut(rest, "?")
	if query != "" {
		return opened{}, usagef("parameter %.40q is unknown; give %s", query, paramTable)
	}
	if path, hosted := strings.CutPrefix(file, "//"); hosted {
		file = path
	}
	if file == "" || strings.Contains(file, ":memory:") {
		return opened{}, usagef("name a file, such as sqlite:ids.db: a database in memory is lost with the process")
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return opened{}, fmt.Errorf("open %s: %w", file, err)
	}
	db.SetMaxOpenConns(1) // SQLite has no queue for writers, the pool has
	if _, err := os.Stat(file); f.reads && err != nil {
		return opened{}, err
	}
	return f.openTable(ctx, db, records.SQLite, own, "sqlite:"+file)
}

// ownParams removes the parameters that the driver does not use from a URL.
func ownParams(rest string) (without string, own url.Values, err error) {
	base, query, _ := strings.Cut(rest, "?")
	all, err := url.ParseQuery(query)
	if err != nil {
		return "", nil, usagef("the parameters are not a URL's: %w", err)
	}
	own = url.Values{}
	for _, name := range []string{paramTable, paramNoFailover} {
		if all.Has(name) {
			own.Set(name, all.Get(name))
			all.Del(name)
		}
	}
	if len(all) > 0 {
		base += "?" + all.Encode()
	}
	return base, own, nil
}

// isStarting reports whether an error came from a server that does not run, or not yet.
func isStarting(err error) bool {
	var network net.Error
	var state *pgconn.PgError
	return errors.As(err, &network) || errors.As(err, &state) && state.Code == "57P03" || errors.Is(err, driver.ErrBadConn)
}

// Idle connections of a pool: with the default of two, most renewals of many sequencers open a connection each.
const (
	idleConns    = 16
	idleConnsFor = time.Minute
)

// openTable returns the store in a table, which it creates.
func (f storeFlags) openTable(ctx context.Context, db *sql.DB, dialect records.Dialect, own url.Values,
	name string) (opened, error) {
	table := defaultTable
	if own.Has(paramTable) {
		table = own.Get(paramTable)
	}
	alone, err := yes(own, paramNoFailover, false)
	if err != nil {
		return opened{}, err
	}
	db.SetMaxIdleConns(idleConns)
	db.SetConnMaxIdleTime(idleConnsFor)
	s := records.New(db, dialect, table)
	if alone {
		s = s.WithoutFailover()
	}
	if f.reads {
		return opened{Store: s, name: name + " table " + table, closed: func() { _ = db.Close() }}, nil
	}
	if err := f.untilAnswered(ctx, isStarting, s.CreateTable); err != nil {
		_ = db.Close()
		return opened{}, fmt.Errorf("%s: %w", name, err)
	}
	return opened{Store: s, name: name + " table " + table, closed: func() { _ = db.Close() }}, nil
}
