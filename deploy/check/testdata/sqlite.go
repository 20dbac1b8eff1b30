// Command sqlite prints an ID of a sequencer whose records are in an SQLite file.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"

	storesql "github.com/snowgrid/snowgrid/client/sql"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(os.Args[1], "ids.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	s := storesql.New(db, storesql.SQLite, "snowgrid")
	if err := s.CreateTable(ctx); err != nil {
		return err
	}
	c, err := store.Open(ctx, s, store.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = c.Leave(ctx) }()
	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		return err
	}
	id, err := orders.Next(ctx)
	if err != nil {
		return err
	}
	fmt.Println(id)
	return nil
}
