package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of PostgreSQL

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/etcd/mixed"
	"github.com/snowgrid/snowgrid/client/s3"
	"github.com/snowgrid/snowgrid/client/s3/s3test"
	storesql "github.com/snowgrid/snowgrid/client/sql"
	"github.com/snowgrid/snowgrid/client/store"
)

// openStore returns the store that an address stands for.
func openStore(addr string) (store.Store, error) {
	if dir, ok := strings.CutPrefix(addr, "file:"); ok {
		return store.OpenFile(dir)
	}
	u, err := url.Parse(addr)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "s3":
		bucket, prefix, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		return s3.New(s3test.Client(u.Host), bucket, prefix), nil
	case "etcd", "mixed":
		cli, err := clientv3.New(clientv3.Config{Endpoints: []string{u.Host}})
		if err != nil {
			return nil, err
		}
		if u.Scheme == "mixed" {
			return mixed.New(cli, mixed.Config{Prefix: u.Path}), nil
		}
		return etcd.New(cli, etcd.Config{Prefix: u.Path}), nil
	case "postgres":
		return openPostgres(addr)
	}
	return nil, fmt.Errorf("store %q: give s3, etcd, mixed, postgres or file", addr)
}

// openPostgres creates the table, as soon as the server answers.
func openPostgres(addr string) (store.Store, error) {
	db, err := sql.Open("pgx", addr)
	if err != nil {
		return nil, err
	}
	records := storesql.New(db, storesql.PostgreSQL, "snowgrid")
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := records.CreateTable(ctx)
		cancel()
		if err == nil {
			return records, nil
		}
		fmt.Println("error:", err)
		time.Sleep(time.Second) // until the server answers; the test ends this process otherwise
	}
}
