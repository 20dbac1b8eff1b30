package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
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

// locatePostgres locates a database with the driver pgx, which reads the rest of the URL.
func locatePostgres(_ context.Context, f storeFlags, scheme, rest string) (located, error) {
	rest, own, err := ownParams(rest)
	if err != nil {
		return located{}, err
	}
	cfg, err := pgx.ParseConfig(scheme + ":" + rest)
	if err != nil {
		// its text may contain the password
		return located{}, usagef("the driver cannot read the URL; write postgres://USER:PASSWORD@HOST:5432/DATABASE")
	}
	name := fmt.Sprintf("postgres://%s:%d/%s", cfg.Host, cfg.Port, cfg.Database)
	return f.locateTable(stdlib.OpenDB(*cfg), records.PostgreSQL, own, name)
}

func locateMySQL(_ context.Context, f storeFlags, _, rest string) (located, error) {
	rest, own, err := ownParams(rest)
	if err != nil {
		return located{}, err
	}
	a, err := parseAddress(rest, nil)
	if err != nil {
		return located{}, err
	}
	if len(a.hosts) != 1 || a.path == "" {
		return located{}, usagef("write mysql://USER:PASSWORD@HOST:3306/DATABASE, with one host")
	}
	host := a.hosts[0]
	if !strings.Contains(strings.TrimPrefix(host, "["), ":") || strings.HasSuffix(host, "]") {
		host += ":3306"
	}
	cfg, err := mysql.ParseDSN("tcp(" + host + ")/?" + a.query.Encode())
	if err != nil {
		return located{}, usagef("the driver refuses the URL: %w", err)
	}
	cfg.DBName = a.path
	if a.user != nil {
		cfg.User = a.user.Username()
		cfg.Passwd, _ = a.user.Password()
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return located{}, usagef("the driver refuses the URL: %w", err)
	}
	return f.locateTable(sql.OpenDB(connector), records.MySQL, own, "mysql://"+host+"/"+cfg.DBName)
}

// locateSQLite locates a file: sqlite:FILE.
func locateSQLite(_ context.Context, f storeFlags, _, rest string) (located, error) {
	rest, own, err := ownParams(rest)
	if err != nil {
		return located{}, err
	}
	file, query, _ := strings.Cut(rest, "?")
	if query != "" {
		return located{}, usagef("parameter %.40q is unknown; give %s", query, paramTable)
	}
	if path, hosted := strings.CutPrefix(file, "//"); hosted {
		file = path
	}
	if file == "" || strings.Contains(file, ":memory:") {
		return located{}, usagef("name a file, such as sqlite:ids.db: a database in memory is lost with the process")
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?_pragma=busy_timeout(10000)"+
		f.sqliteMode(file))
	if err != nil {
		return located{}, fmt.Errorf("open %s: %w", file, err)
	}
	db.SetMaxOpenConns(1) // SQLite has no queue for writers, the pool has
	at, err := f.locateTable(db, records.SQLite, own, "sqlite:"+file)
	open := at.open
	at.open = func(ctx context.Context, failing func(error)) (opened, error) {
		if _, err := os.Stat(file); f.reads && err != nil {
			return opened{}, err
		}
		return open(ctx, failing)
	}
	return at, err
}

// sqliteMode returns the parameters for a file. To read it writes nothing, as the disk may be full or read-only.
// Without a log beside the file, which SQLite would make, no process has it open.
func (f storeFlags) sqliteMode(file string) string {
	if !f.reads {
		return "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	}
	if _, err := os.Stat(file + "-wal"); errors.Is(err, fs.ErrNotExist) {
		return "&immutable=1"
	}
	return "&mode=ro"
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

// locateTable returns the store in a table, which is created when it is opened.
func (f storeFlags) locateTable(db *sql.DB, dialect records.Dialect, own url.Values, name string) (located, error) {
	table := defaultTable
	if own.Has(paramTable) {
		table = own.Get(paramTable)
	}
	if err := records.CheckTable(table); err != nil {
		return located{}, err
	}
	alone, err := yes(own, paramNoFailover, false)
	if err != nil {
		return located{}, err
	}
	db.SetMaxIdleConns(idleConns)
	db.SetConnMaxIdleTime(idleConnsFor)
	s := records.New(db, dialect, table)
	if alone {
		s = s.WithoutFailover()
	}
	o := opened{Store: s, name: name + " table " + table, closed: func() { _ = db.Close() }}
	return located{like: s, open: func(ctx context.Context, failing func(error)) (opened, error) {
		if f.reads {
			return o, nil
		}
		if err := untilAnswered(ctx, failing, isStarting, s.CreateTable); err != nil {
			o.closed()
			return opened{}, fmt.Errorf("%s: %w", name, err)
		}
		return o, nil
	}}, nil
}
