// Command store issues an ID without a grid: its records are files in the directory ids.
// Run it several times, also at the same time.
//
// Only the line that makes the store differs for etcd, S3 or a database; see docs/stores.md.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

func main() {
	ctx := context.Background()
	s := must(store.OpenFile("ids"))
	c := must(store.Open(ctx, s, store.Config{}))
	orders := must(c.CreateSequencer(ctx, "orders", sequencer.Config{}))
	fmt.Println(must(orders.Next(ctx)))
	_ = c.Leave(ctx) // A node that is not returned is free after the window.
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
