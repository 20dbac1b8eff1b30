package grid_test

import (
	"context"
	"fmt"
	"log"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A process that wants more than the 1,024 IDs a millisecond of one logical node of
// this sequencer takes four nodes, and has 4,096.
func ExampleMember_CreateStriped() {
	ctx := context.Background()
	member, err := grid.Start(ctx, grid.Config{}) // alone, for an example
	if err != nil {
		log.Fatal(err)
	}
	defer member.Close()
	events, err := member.CreateStriped(ctx, "events", sequencer.Config{}, 4)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(events.LogicalNodes()), "logical nodes")

	ids := make([]sequencer.ID, 10_000)
	n, err := events.Fill(ctx, ids)
	fmt.Println(n, "IDs", err)

	unique := map[sequencer.ID]bool{}
	for _, id := range ids {
		unique[id] = true
	}
	fmt.Println(len(unique), "of them unique")

	err = events.Leave(ctx) // gives the logical nodes back
	fmt.Println("left", err)
	// Output:
	// 4 logical nodes
	// 10000 IDs <nil>
	// 10000 of them unique
	// left <nil>
}
