package sequencer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

func ExampleDefine() {
	orders, err := sequencer.Define("orders", sequencer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(orders)
	fmt.Println("ends", orders.Exhausted())

	// 8000 nodes need as many bits as 8192, and define the same sequencer.
	same, err := sequencer.Define("orders", sequencer.Config{Nodes: 8000})
	fmt.Println(same == orders, err)
	// Output:
	// "orders" (epoch 2026-01-01T00:00:00.000Z, 8192 nodes)
	// ends 2060-11-03 19:53:47.776 +0000 UTC
	// true <nil>
}

func ExampleDefine_invalid() {
	_, err := sequencer.Define("orders", sequencer.Config{Nodes: 10})
	fmt.Println(errors.Is(err, sequencer.ErrInvalidConfig))
	fmt.Println(err)
	// Output:
	// true
	// sequencer: 10 nodes are fewer than 128: give 128 to 8192, or 0 for 8192
}

func ExampleDefinition_Decompose() {
	orders, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.UnixMilli(1_388_534_400_000)})
	if err != nil {
		log.Fatal(err)
	}
	parts := orders.Decompose(44_368_455_009_519_623)
	fmt.Println(parts.Time)
	fmt.Println("node", parts.Node)
	fmt.Println("counter", parts.Counter)
	// Output:
	// 2014-03-03 05:12:12 +0000 UTC
	// node 1234
	// counter 7
}

func ExampleDefinition_Compose() {
	orders, err := sequencer.Define("orders", sequencer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	at := time.Date(2026, time.March, 3, 5, 12, 12, 0, time.UTC)
	fmt.Println(orders.Compose(sequencer.Parts{Time: at, Node: 1234, Counter: 7}))

	// The counters of 8192 nodes are 0 to 1023.
	_, err = orders.Compose(sequencer.Parts{Time: at, Node: 1234, Counter: 1024})
	fmt.Println(err)
	// Output:
	// 44368455009519623 <nil>
	// sequencer: counter 1024 does not fit into a millisecond of "orders": give 0 to 1023
}

// The IDs of one day, for a query such as
//
//	SELECT ... WHERE id BETWEEN $1 AND $2
func ExampleDefinition_MinID() {
	orders, err := sequencer.Define("orders", sequencer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	day := time.Date(2026, time.March, 3, 0, 0, 0, 0, time.UTC)
	first := orders.MinID(day)
	last := orders.MaxID(day.AddDate(0, 0, 1).Add(-time.Millisecond))
	fmt.Println(first, "to", last)
	fmt.Println(orders.Decompose(first).Time)
	fmt.Println(orders.Decompose(last).Time)
	// Output:
	// 44211319603200000 to 44936095334399999
	// 2026-03-03 00:00:00 +0000 UTC
	// 2026-03-03 23:59:59.999 +0000 UTC
}

func ExampleParse() {
	fmt.Println(sequencer.Parse("45035996273704960"))
	_, err := sequencer.Parse("-1")
	fmt.Println(err)
	// Output:
	// 45035996273704960 <nil>
	// sequencer: "-1" is not an ID; give a decimal number from 0 to 9223372036854775807 without sign, space or leading zero
}

// A text that sorts as the ID does, for file names, object keys and stores that order texts: 19 digits. An ID is
// an integer, so package fmt pads it.
func ExampleID_sortedText() {
	for _, id := range []sequencer.ID{7_943_542_013_952_000, 1_058_897_343_283_200_000} {
		fmt.Printf("%019d\n", id)
	}
	var id sequencer.ID
	_, err := fmt.Sscanf("orders/0007943542013952000.json", "orders/%019d.json", (*int64)(&id))
	fmt.Println(id, err)
	// Output:
	// 0007943542013952000
	// 1058897343283200000
	// 7943542013952000 <nil>
}

// In JSON an ID is a string, because many languages read a number as a float.
func ExampleID_MarshalJSON() {
	type order struct {
		ID sequencer.ID `json:"id"`
	}
	text, err := json.Marshal(order{ID: 9_007_199_254_740_993})
	fmt.Println(string(text), err)

	var o order
	err = json.Unmarshal([]byte(`{"id": 9007199254740993}`), &o)
	fmt.Println(o.ID, err)
	// Output:
	// {"id":"9007199254740993"} <nil>
	// 9007199254740993 <nil>
}
