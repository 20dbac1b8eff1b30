// Command member is a grid of one embedded member, which prints an ID.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/snowgrid/snowgrid/grid"
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
	member, err := grid.Start(ctx, grid.Config{Expect: 1, DataDir: os.Args[1], GossipAddr: "127.0.0.1:0",
		RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	defer func() { _ = member.Leave(ctx) }()
	orders, err := member.CreateSequencer(ctx, "orders", sequencer.Config{})
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
