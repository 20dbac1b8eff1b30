package libraries

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/vmihailenco/msgpack/v5"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/snowgrid/snowgrid/sequencer"
)

const id sequencer.ID = 235067008364840961

// order is a document with IDs in each place: a field, one that may be missing, a list.
type order struct {
	ID     sequencer.ID   `cbor:"id" msgpack:"id" bson:"id"`
	Parent *sequencer.ID  `cbor:"parent" msgpack:"parent" bson:"parent"`
	Items  []sequencer.ID `cbor:"items" msgpack:"items" bson:"items"`
}

// plain is the same for a reader that does not have the type.
type plain struct {
	ID     int64   `cbor:"id" msgpack:"id" bson:"id"`
	Parent *int64  `cbor:"parent" msgpack:"parent" bson:"parent"`
	Items  []int64 `cbor:"items" msgpack:"items" bson:"items"`
}

func TestIntegers(t *testing.T) {
	for name, codec := range map[string]struct {
		marshal   func(any) ([]byte, error)
		unmarshal func([]byte, any) error
	}{
		"cbor":    {cbor.Marshal, cbor.Unmarshal},
		"msgpack": {msgpack.Marshal, msgpack.Unmarshal},
		"bson":    {bson.Marshal, bson.Unmarshal},
	} {
		t.Run(name, func(t *testing.T) {
			parent := id - 1
			for _, in := range []order{{ID: id, Items: []sequencer.ID{1, id + 1}}, {ID: id, Parent: &parent}} {
				data, err := codec.marshal(in)
				if err != nil {
					t.Fatal(err)
				}
				var numbers plain
				if err := codec.unmarshal(data, &numbers); err != nil {
					t.Fatalf("a reader of integers: %v", err)
				}
				fromPlain, err := codec.marshal(numbers)
				if err != nil {
					t.Fatal(err)
				}
				for _, data := range [][]byte{data, fromPlain} {
					var out order
					if err := codec.unmarshal(data, &out); err != nil {
						t.Fatal(err)
					}
					if got, want := text(out), text(in); got != want {
						t.Errorf("%x is read as %s, want %s", data, got, want)
					}
				}
			}
		})
	}
}

func text(o order) string {
	parent := "none"
	if o.Parent != nil {
		parent = o.Parent.String()
	}
	return fmt.Sprintf("%d %s %d", o.ID, parent, o.Items)
}

// TestGob: gob has the digits, and readers need the type.
func TestGob(t *testing.T) {
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(order{ID: id, Items: []sequencer.ID{1}}); err != nil {
		t.Fatal(err)
	}
	var out order
	if err := gob.NewDecoder(&data).Decode(&out); err != nil ||
		text(out) != text(order{ID: id, Items: []sequencer.ID{1}}) {
		t.Errorf("read as %s, %v", text(out), err)
	}
}

func TestNegativeIDsAreRefused(t *testing.T) {
	for name, marshal := range map[string]func(any) ([]byte, error){"cbor": cbor.Marshal, "msgpack": msgpack.Marshal} {
		if data, err := marshal(order{ID: -1}); err == nil {
			t.Errorf("%s wrote %x", name, data)
		}
	}
	for name, from := range map[string]error{
		"cbor":    cbor.Unmarshal(must(cbor.Marshal(plain{ID: -1})), &order{}),
		"msgpack": msgpack.Unmarshal(must(msgpack.Marshal(plain{ID: -1})), &order{}),
	} {
		if from == nil {
			t.Errorf("%s read -1", name)
		}
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
