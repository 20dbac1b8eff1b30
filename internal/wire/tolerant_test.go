package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// extended encodes v as a later version may: with a field more in every object.
func extended(t *testing.T, kind string, v any) []byte {
	t.Helper()
	data, err := wire.Encode(kind, v)
	if err != nil {
		t.Fatal(err)
	}
	var generic any
	if kind == wire.JSON {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		err = dec.Decode(&generic)
	} else {
		err = msgpack.Unmarshal(data, &generic)
	}
	if err != nil {
		t.Fatal(err)
	}
	if data, err = wire.Encode(kind, withMore(generic)); err != nil {
		t.Fatal(err)
	}
	return data
}

func withMore(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if _, isMap := v["orders"]; isMap { // the keys of a map are values
			return v
		}
		for name, field := range v {
			v[name] = withMore(field)
		}
		v["added_later"] = map[string]any{"deep": []any{1, "x", nil, map[string]any{"y": 2.5}, true, -7}}
	case []any:
		for i := range v {
			v[i] = withMore(v[i])
		}
	}
	return v
}

// TestAddedFields: an answer may have fields that this version does not know, and so
// may a request of another process of snowgrid. In a request that a person writes they
// are refused: there an unknown field is a misspelled one.
func TestAddedFields(t *testing.T) {
	for _, kind := range kinds {
		for _, v := range messages() {
			data := extended(t, kind, v)
			got, err := decodeWith(wire.DecodeTolerant, v, kind, data)
			if err != nil || !reflect.DeepEqual(got, v) {
				t.Errorf("%s: %#v, extended, is %#v, %v", kind, v, got, err)
			}
			got, err = decodeWith(wire.DecodeRequest, v, kind, data)
			if kind == wire.MsgPack && (err != nil || !reflect.DeepEqual(got, v)) {
				t.Errorf("%#v, extended, is the request %#v, %v", v, got, err)
			}
			if kind == wire.JSON && (!errors.Is(err, wire.ErrBadRequest) || !strings.Contains(err.Error(), `"added_later"`)) {
				t.Errorf("a person's request %s: %v", data, err)
			}
			if _, err := decodeWith(wire.Decode, v, kind, data); !errors.Is(err, wire.ErrBadRequest) {
				t.Errorf("%s: Decode takes %q: %v", kind, data, err)
			}
		}
	}
}

// TestAddedFieldsOfEvents: an event stream does not end by an event of a later version.
func TestAddedFieldsOfEvents(t *testing.T) {
	want := wire.Event{Name: "orders", Life: attachment.Life{5}}
	data := extended(t, wire.MsgPack, want)
	framed := append([]byte{0, 0, 0, byte(len(data))}, data...)
	if got, err := wire.ReadEvent(bytes.NewReader(framed)); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAddedFieldsOfTheLog: members that apply a command, or restore a snapshot, in
// different ways are no longer one grid, so an unknown field there is never ignored.
func TestAddedFieldsOfTheLog(t *testing.T) {
	for _, c := range commands() {
		data, err := wire.EncodeCommand(c)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wire.DecodeCommand(append(data[:1:1], extended(t, wire.MsgPack, c)...)); err == nil ||
			!strings.Contains(err.Error(), "added_later") {
			t.Errorf("a command of a later version is taken as %+v, %v", got, err)
		}
	}
	for _, r := range []*roster.Roster{{}, someRoster()} {
		data, err := wire.EncodeRoster(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wire.DecodeRoster(append(data[:1:1], extended(t, wire.MsgPack, r)...)); err == nil ||
			!strings.Contains(err.Error(), "added_later") {
			t.Errorf("a roster of a later version is taken as %+v, %v", got, err)
		}
	}
}
