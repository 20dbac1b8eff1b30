package sonyflake_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/compat/sonyflake"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A table has IDs of sonyflake and later ones. A service has a store that all its processes share, in place of one in
// memory.
func Example() {
	ctx := context.Background()
	c, err := store.Open(ctx, store.NewMemory(), store.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	start := time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC) // sonyflake's default
	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Epoch: epoch.At(start)})
	if err != nil {
		log.Fatal(err)
	}

	const last = 70756435419989202 // SELECT max(id) FROM orders
	sf, err := sonyflake.New(sonyflake.Settings{Sequencer: orders, Last: last})
	if err != nil {
		log.Fatal(err)
	}
	id, err := sf.NextID()
	fmt.Println(id > last, time.Since(sf.ToTime(id)) < time.Minute, err)
	parts := sf.Decompose(last)
	fmt.Println(sf.ToTime(last).UTC(), parts["sequence"], parts["machine"])
	// Output:
	// true true <nil>
	// 2026-05-04 03:02:01.98 +0000 UTC 200 1234
}

func ExampleSonyflake_Compose() {
	ctx := context.Background()
	c, err := store.Open(ctx, store.NewMemory(), store.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	start := time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)
	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Epoch: epoch.At(start)})
	if err != nil {
		log.Fatal(err)
	}
	sf, err := sonyflake.New(sonyflake.Settings{Sequencer: orders, Last: 70756435419989202}) // of 2026-05-04
	if err != nil {
		log.Fatal(err)
	}
	for _, at := range []time.Time{start.AddDate(1, 0, 0), start.AddDate(2, 0, 0)} {
		id, err := sf.Compose(at, 7, 42)
		fmt.Println(id, sf.ToTime(id).UTC(), err)
	}
	_, err = sf.Compose(start.AddDate(1, 0, 0), 1023, 42)
	fmt.Println(errors.Is(err, sonyflake.ErrInvalidSequence), err)
	// Output:
	// 52908628378058794 2026-01-01 00:00:00 +0000 UTC <nil>
	// 529086283776043015 2027-01-01 00:00:00 +0000 UTC <nil>
	// true sonyflake: compose: sequence 1023: outside the limits; give 0 to 255
}

func ExampleSonyflake_NextIDContext() {
	ctx := context.Background()
	c, err := store.Open(ctx, store.NewMemory(), store.Config{})
	if err != nil {
		log.Fatal(err)
	}
	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	sf, err := sonyflake.New(sonyflake.Settings{Sequencer: orders})
	if err != nil {
		log.Fatal(err)
	}
	_ = c.Close()
	waiting, cancel := context.WithTimeout(ctx, time.Second) // NextID has no bound
	defer cancel()
	_, err = sf.NextIDContext(waiting)
	fmt.Println(err)
	// Output:
	// sonyflake: next: sequencer "orders": closed: start another member or client and take the handle from there
}

func ExampleNew_lastAboveTheSequencer() {
	ctx := context.Background()
	c, err := store.Open(ctx, store.NewMemory(), store.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	small, err := c.CreateSequencer(ctx, "small", sequencer.Config{Layout: sequencer.JSSafe()})
	if err != nil {
		log.Fatal(err)
	}
	_, err = sonyflake.New(sonyflake.Settings{Sequencer: small, Last: 70756435419989202})
	fmt.Println(errors.Is(err, sequencer.ErrInvalidConfig))
	// Output:
	// true
}
