package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/compat/snowflake"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/idtext"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The program of bwmarrin/snowflake's manual, after the move. A service has a store that all its processes share, in
// place of one in memory.
func Example() {
	ctx := context.Background()
	c, err := store.Open(ctx, store.NewMemory(), store.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter})
	if err != nil {
		log.Fatal(err)
	}

	node, err := snowflake.Use(orders) // was: snowflake.NewNode(1)
	if err != nil {
		log.Fatal(err)
	}
	id := node.Generate()
	parsed, err := snowflake.ParseBase58([]byte(id.Base58()))
	fmt.Println(parsed == id, err)
	fmt.Println(time.Since(time.UnixMilli(id.Time())) < time.Minute)
	// Output:
	// true <nil>
	// true
}

func ExampleUse_otherEpoch() {
	ctx := context.Background()
	c, err := store.Open(ctx, store.NewMemory(), store.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Discord})
	if err != nil {
		log.Fatal(err)
	}
	_, err = snowflake.Use(orders)
	_, remedy, _ := strings.Cut(err.Error(), "; ")
	fmt.Println(errors.Is(err, sequencer.ErrInvalidConfig))
	fmt.Println(remedy)
	// Output:
	// true
	// create the sequencer with sequencer.Twitter() and epoch.Twitter, or call UseCustom
}

// snowflake.Epoch = 1420070400000 becomes the sequencer's epoch, and id.Time() becomes node.Time(id).
func ExampleUseCustom() {
	ctx := context.Background()
	c, err := store.Open(ctx, store.NewMemory(), store.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	messages, err := c.CreateSequencer(ctx, "messages",
		sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.UnixMilli(1420070400000)})
	if err != nil {
		log.Fatal(err)
	}
	node, err := snowflake.UseCustom(messages)
	if err != nil {
		log.Fatal(err)
	}
	old, err := snowflake.ParseString("175928847299117063")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(time.UnixMilli(node.Time(old)).UTC(), node.Node(old), node.Step(old))
	fmt.Println(node.Generate() > old)
	// Output:
	// 2016-04-30 11:18:25.796 +0000 UTC 32 7
	// true
}

func ExampleNode_GenerateContext() {
	ctx := context.Background()
	c, err := store.Open(ctx, store.NewMemory(), store.Config{})
	if err != nil {
		log.Fatal(err)
	}
	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter})
	if err != nil {
		log.Fatal(err)
	}
	node, err := snowflake.Use(orders)
	if err != nil {
		log.Fatal(err)
	}
	_ = c.Close() // Generate would panic from here on
	waiting, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = node.GenerateContext(waiting)
	fmt.Println(err)
	// Output:
	// snowflake: generate: sequencer "orders": closed: start another member or client and take the handle from there
}

func ExampleID() {
	id := snowflake.ParseInt64(1116766490855473152)
	fmt.Println(id)
	fmt.Println(id.Base32(), id.Base36(), id.Base58())
	fmt.Println(time.UnixMilli(id.Time()).UTC(), id.Node(), id.Step())
	fmt.Println(idtext.Base32(sequencer.ID(id)))
	// Output:
	// 1116766490855473152
	// 69hpguoeyyyy 8hg4ojd30u80 3Amry1HHf7U
	// 2019-04-12 18:14:14.595 +0000 UTC 0 0
	// 0yzwd6kg80000
}

func ExampleParseBase58() {
	_, err := snowflake.ParseBase58([]byte("l0O"))
	fmt.Println(errors.Is(err, snowflake.ErrInvalidBase58), errors.Is(err, sequencer.ErrInvalidID))
	// Output:
	// true true
}
