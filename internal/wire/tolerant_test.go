package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
)

// extended encodes v as a later version may: with a field more in every object.
func extended(t *testing.T, kind string, v any) []byte {
	t.Helper()
	return changed(t, kind, v, withMore)
}

// changed encodes v with its objects changed.
func changed(t *testing.T, kind string, v any, change func(generic any) any) []byte {
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
	if data, err = wire.Encode(kind, change(generic)); err != nil {
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

// TestMissingFields: a field that an earlier version does not send has the value zero.
func TestMissingFields(t *testing.T) {
	stamp := wire.Stamp{Grid: roster.GridID{1}, Version: 3, Time: 4}
	full := map[any]map[string]any{
		wire.Done{Stamp: stamp}: {"grid": wire.Done{Stamp: wire.Stamp{Version: 3, Time: 4}},
			"time": wire.Done{Stamp: wire.Stamp{Grid: stamp.Grid, Version: 3}}},
		wire.AttachResponse{Stamp: stamp, Node: 5, Grant: attachment.Grant{From: 6, Until: 7}}: {
			"node": wire.AttachResponse{Stamp: stamp, Grant: attachment.Grant{From: 6, Until: 7}},
			"from": wire.AttachResponse{Stamp: stamp, Node: 5, Grant: attachment.Grant{Until: 7}}},
		member.ReplicateResponse{Held: backup.Position{Term: 8, Number: 3}, Newest: 9, Gap: true}: {
			"held":   member.ReplicateResponse{Newest: 9, Gap: true},
			"number": member.ReplicateResponse{Held: backup.Position{Term: 8}, Newest: 9, Gap: true}},
	}
	for v, without := range full {
		for field, want := range without {
			for _, kind := range kinds {
				got, err := decodeWith(wire.DecodeTolerant, v, kind, reduced(t, kind, v, field))
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %#v without %q is %#v, %v", kind, v, field, got, err)
				}
			}
		}
	}
}

// reduced encodes v without a field, in each object.
func reduced(t *testing.T, kind string, v any, field string) []byte {
	t.Helper()
	return changed(t, kind, v, func(generic any) any { return without(generic, field) })
}

func without(v any, field string) any {
	if object, is := v.(map[string]any); is {
		delete(object, field)
		for _, value := range object {
			without(value, field)
		}
	}
	return v
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
