package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite

	records "github.com/snowgrid/snowgrid/client/sql"
)

// defaultTable is the table without a parameter table.
const defaultTable = "snowgrid"

// The parameters of a database's URL that are not the driver's.
const (
	paramTable      = "table"       // the table of the records; it is created
	paramNoFailover = "no_failover" // true: no other server ever takes the place of this one
)

// openPostgres opens a database with the driver pgx, which reads the rest of the URL.
func openPostgres(ctx context.Context, _ storeFlags, scheme, rest string) (opened, error) {
	rest, own, err := ownParams(rest)
	if err != nil {
		return opened{}, err
	}
	db, err := sql.Open("pgx", scheme+":"+rest)
	if err != nil {
		return opened{}, errors.New("the driver cannot read the URL; write postgres://USER:PASSWORD@HOST:5432/DATABASE") // its text may show the password
	}
	return openTable(ctx, db, records.PostgreSQL, own, "postgres")
}

// openMySQL opens a MySQL or MariaDB database.
func openMySQL(ctx context.Context, _ storeFlags, _, rest string) (opened, error) {
	rest, own, err := ownParams(rest)
	if err != nil {
		return opened{}, err
	}
	a, err := parseAddress(rest, nil)
	if err != nil {
		return opened{}, err
	}
	if len(a.hosts) != 1 || a.path == "" {
		return opened{}, errors.New("write mysql://USER:PASSWORD@HOST:3306/DATABASE, with one host")
	}
	host := a.hosts[0]
	if !strings.Contains(strings.TrimPrefix(host, "["), ":") || strings.HasSuffix(host, "]") {
		host += ":3306"
	}
	cfg, err := mysql.ParseDSN("tcp(" + host + ")/?" + a.query.Encode())
	if err != nil {
		return opened{}, fmt.Errorf("the driver refuses the URL: %w", err)
	}
	cfg.DBName = a.path
	if a.user != nil {
		cfg.User = a.user.Username()
		cfg.Passwd, _ = a.user.Password()
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return opened{}, fmt.Errorf("the driver refuses the URL: %w", err)
	}
	return openTable(ctx, sql.OpenDB(connector), records.MySQL, own, "mysql://"+host+"/"+cfg.DBName)
}

// openSQLite opens a file: sqlite:FILE.
func openSQLite(ctx context.Context, _ storeFlags, _, rest string) (opened, error) {
	rest, own, err := ownParams(rest)
	if err != nil {
		return opened{}, err
	}
	file, query, _ := strings.Cut(rest, "?")
	if query != "" {
		return opened{}, fmt.Errorf("parameter %.40q is unknown; give %s", query, paramTable)
	}
	if path, hosted := strings.CutPrefix(file, "//"); hosted {
		file = path
	}
	if file == "" || strings.Contains(file, ":memory:") {
		return opened{}, errors.New("name a file, such as sqlite:ids.db: a database in memory is lost with the process")
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return opened{}, fmt.Errorf("open %s: %w", file, err)
	}
	return openTable(ctx, db, records.SQLite, own, "sqlite:"+file)
}

// ownParams takes the parameters out of a URL that are not the driver's.
func ownParams(rest string) (without string, own url.Values, err error) {
	base, query, _ := strings.Cut(rest, "?")
	all, err := url.ParseQuery(query)
	if err != nil {
		return "", nil, fmt.Errorf("the parameters are not a URL's: %w", err)
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

// openTable returns the store in a table, which it creates.
func openTable(ctx context.Context, db *sql.DB, dialect records.Dialect, own url.Values, name string) (opened, error) {
	table := defaultTable
	if own.Has(paramTable) {
		table = own.Get(paramTable)
	}
	alone, err := yes(own, paramNoFailover, false)
	if err != nil {
		return opened{}, err
	}
	s := records.New(db, dialect, table)
	if alone {
		s = s.WithoutFailover()
	}
	if err := s.CreateTable(ctx); err != nil {
		_ = db.Close()
		return opened{}, fmt.Errorf("%s: %w", name, err)
	}
	return opened{Store: s, name: name + " table " + table, closed: func() { _ = db.Close() }}, nil
}
