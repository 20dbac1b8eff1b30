package idtext_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/idtext"
	"github.com/snowgrid/snowgrid/sequencer"
)

type order struct{}

func (order) Prefix() string { return "order" }

type plain struct{}

func (plain) Prefix() string { return "" }

type orderID = idtext.Typed[order]

var (
	_ driver.Valuer = orderID(0)
	_ sql.Scanner   = new(orderID)
)

func ExampleTyped() {
	type OrderID = idtext.Typed[order]
	id := OrderID(1116766490855473152)
	text, err := json.Marshal(map[string]OrderID{"id": id})
	fmt.Println(id, string(text), err)
	_, err = idtext.ParseTyped[order]("user_0yzwd6kg80000")
	fmt.Println(err)
	// Output:
	// order_0yzwd6kg80000 {"id":"order_0yzwd6kg80000"} <nil>
	// idtext: "user_0yzwd6kg80000" is not an ID with the prefix "order"; give a text such as order_0000000000000
}

func TestTyped(t *testing.T) {
	type body struct {
		ID   orderID              `json:"id"`
		Next *orderID             `json:"next"`
		None idtext.Typed[plain]  `json:"none"`
		By   map[orderID]struct{} `json:"by"`
	}
	in := body{ID: orderID(published), By: map[orderID]struct{}{1: {}}}
	text, err := json.Marshal(in)
	want := `{"id":"order_0yzwd6kg80000","next":null,"none":"0000000000000","by":{"order_0000000000001":{}}}`
	if string(text) != want || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	var out body
	if err := json.Unmarshal(text, &out); err != nil || out.ID != in.ID || out.Next != nil || len(out.By) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	for _, bad := range []string{`null`, `1`, `"1116766490855473152"`, `"user_0yzwd6kg80000"`, `"order0yzwd6kg80000"`,
		`"ORDER_0yzwd6kg80000"`, `"order_0YZWD6KG80000"`, `"order_"`, `"_0yzwd6kg80000"`, `"0yzwd6kg80000"`, `{}`} {
		id := orderID(7)
		if err := json.Unmarshal([]byte(bad), &id); err == nil || id != 7 {
			t.Errorf("%s is read as %d", bad, id)
		} else if bad != `{}` && !errors.Is(err, sequencer.ErrInvalidID) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestTypedInDatabases: a database has the integer, and none of the prefix.
func TestTypedInDatabases(t *testing.T) {
	if v, err := orderID(published).Value(); v != int64(published) || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	for _, src := range []any{int64(published), []byte("1116766490855473152")} {
		var id orderID
		if err := id.Scan(src); id.ID() != published || err != nil {
			t.Errorf("%v is %d, %v", src, id, err)
		}
	}
	id := orderID(7)
	for _, src := range []any{nil, int64(-1), "order_0yzwd6kg80000"} {
		if err := id.Scan(src); err == nil || id != 7 {
			t.Errorf("%v is %d", src, id)
		}
	}
	if got := id.GormDataType(); got != sequencer.ID(0).GormDataType() {
		t.Error(got)
	}
}

type (
	upper      struct{}
	digit      struct{}
	underscore struct{}
	ending     struct{}
	tooLong    struct{}
	longest    struct{}
	inner      struct{}
)

func (upper) Prefix() string      { return "Order" }
func (digit) Prefix() string      { return "order1" }
func (underscore) Prefix() string { return "_order" }
func (ending) Prefix() string     { return "order_" }
func (tooLong) Prefix() string    { return strings.Repeat("a", 64) }
func (longest) Prefix() string    { return strings.Repeat("a", 63) }
func (inner) Prefix() string      { return "a__b" }

func prefixIs[P idtext.Prefix](t *testing.T, possible bool) {
	t.Helper()
	var kind P
	id := idtext.Typed[P](published)
	text, err := id.MarshalText()
	read, readErr := idtext.ParseTyped[P](kind.Prefix() + "_0yzwd6kg80000")
	if possible && (err != nil || string(text) != kind.Prefix()+"_0yzwd6kg80000" || read != id || readErr != nil) {
		t.Errorf("%q: %s, %v; %d, %v", kind.Prefix(), text, err, read, readErr)
	}
	if !possible && (!errors.Is(err, sequencer.ErrInvalidConfig) || !errors.Is(readErr, sequencer.ErrInvalidConfig) ||
		!strings.Contains(id.String(), "impossible")) {
		t.Errorf("%q: %s, %v; %d, %v; %v", kind.Prefix(), text, err, read, readErr, id)
	}
}

// TestPrefixes: prefixes follow the rules of TypeID.
func TestPrefixes(t *testing.T) {
	prefixIs[order](t, true)
	prefixIs[longest](t, true)
	prefixIs[inner](t, true)
	prefixIs[upper](t, false)
	prefixIs[digit](t, false)
	prefixIs[underscore](t, false)
	prefixIs[ending](t, false)
	prefixIs[tooLong](t, false)
	if text, err := idtext.Typed[plain](published).MarshalText(); string(text) != "0yzwd6kg80000" || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := orderID(-1).MarshalText(); !errors.Is(err, sequencer.ErrInvalidID) {
		t.Errorf("%s, %v", text, err)
	}
}
