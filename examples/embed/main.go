// Command embed is the smallest program with IDs: a grid member inside the
// process, with nothing configured.
//
// Such a member opens no port and is the whole grid. That is right for one
// process; replicas which each run one can issue equal IDs, of which the member
// warns: the first line that this program prints. Give the members a
// way to find each other (see the fields of grid.Config) and nothing else here
// changes.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/sequencer"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	member, err := grid.Start(ctx, grid.Config{})
	if err != nil {
		return err
	}
	defer member.Close() // after Leave it does nothing

	orders, err := member.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		return err
	}
	for range 5 {
		id, err := orders.Next(ctx)
		if err != nil {
			return err
		}
		parts := orders.Definition().Decompose(id)
		fmt.Printf("order %d was numbered at %s by node %d\n", id, parts.Time.Format(time.StampMilli), parts.Node)
	}

	// The orders of the last hour are a range of IDs.
	now := time.Now()
	fmt.Printf("WHERE id BETWEEN %d AND %d\n", orders.Definition().MinID(now.Add(-time.Hour)),
		orders.Definition().MaxID(now))

	// A clean end releases the logical node immediately.
	return member.Leave(ctx)
}
