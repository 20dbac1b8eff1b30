// Command etcd prints an ID of a sequencer whose records are in etcd.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd"
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
	server, err := clientv3.NewFromURL(os.Args[1])
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	c, err := store.Open(ctx, etcd.New(server, etcd.Config{}), store.Config{})
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
