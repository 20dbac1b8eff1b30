package wire_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
)

// stable wants that an accepted value re-encodes, and that this, decoded again,
// gives the same bytes.
func stable(t *testing.T, kind string, v any) {
	t.Helper()
	first, err := wire.Encode(kind, v)
	if err != nil {
		t.Fatalf("%#v is accepted and not encoded: %v", v, err)
	}
	again, err := decodeLike(v, kind, first)
	if err != nil {
		t.Fatalf("%#v is not accepted when encoded again as %q: %v", v, first, err)
	}
	second, err := wire.Encode(kind, again)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%#v is %q at first and %q later, %v", v, first, second, err)
	}
}

// FuzzDecode has every message's decoder read every input, in both encodings.
func FuzzDecode(f *testing.F) {
	for _, v := range messages() {
		for _, kind := range kinds {
			data, err := wire.Encode(kind, v)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte("\x82\xa3new\x81\xa1a\x93\x01\xcb\x00\x00\x00\x00\x00\x00\x00\x00\xd5\x01\x02\x03\xa6holder\xa1h"))
	f.Add([]byte(`{"new":{"a":[1,2.5,null]},"holder":"h"}`))
	f.Add([]byte("\x81\xa6claims\xdd\xff\xff\xff\xff"))
	f.Add([]byte("\xc0"))
	f.Add([]byte("null"))
	seen := map[reflect.Type]bool{}
	var types []any
	for _, v := range messages() {
		if t := reflect.TypeOf(v); !seen[t] {
			seen[t] = true
			types = append(types, v)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range kinds {
			for _, v := range types {
				got, strict := decodeLike(v, kind, data)
				if strict == nil {
					stable(t, kind, got)
				}
				tolerated, err := decodeWith(wire.DecodeTolerant, v, kind, data)
				if err == nil {
					stable(t, kind, tolerated)
				}
				if strict == nil && (err != nil || !reflect.DeepEqual(got, tolerated)) {
					t.Fatalf("%#v is tolerated as %#v, %v", got, tolerated, err)
				}
			}
		}
	})
}

func FuzzReadEvent(f *testing.F) {
	for _, e := range []wire.Event{{}, {Name: "orders"}} {
		var b bytes.Buffer
		if err := wire.WriteEvent(&b, e); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := wire.ReadEvent(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := wire.WriteEvent(&b, e); err != nil {
			t.Fatal(err)
		}
		if again, err := wire.ReadEvent(&b); err != nil || again != e {
			t.Fatalf("%v is %v later, %v", e, again, err)
		}
	})
}

func FuzzDecodeCommand(f *testing.F) {
	for _, c := range commands() {
		data, err := wire.EncodeCommand(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := wire.DecodeCommand(data)
		if err != nil {
			return
		}
		stable(t, wire.MsgPack, c)
		for _, r := range []*roster.Roster{{}, someRoster()} {
			_, _ = r.Apply(c) // whatever the log holds, it does not panic
		}
	})
}

func FuzzDecodeRoster(f *testing.F) {
	for _, r := range []*roster.Roster{{}, someRoster()} {
		data, err := wire.EncodeRoster(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := wire.DecodeRoster(data)
		if err != nil {
			return
		}
		stable(t, wire.MsgPack, *r)
		for _, c := range commands() {
			c.From = r.Version
			_, _ = r.Apply(c)
		}
	})
}

// FuzzReplicate: a replica can forward every table that it accepts, page by page, and the
// next replica accepts it too.
func FuzzReplicate(f *testing.F) {
	for _, v := range messages() {
		if req, ok := v.(member.ReplicateRequest); ok {
			data, err := wire.Encode(wire.MsgPack, req)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var req member.ReplicateRequest
		if wire.Decode(wire.MsgPack, data, &req) != nil {
			return
		}
		for _, c := range req.Changes {
			if change, err := c.Change(); err == nil {
				again, err := member.ChangesOf([]partition.TableChange{change})[0].Change()
				if err != nil || !reflect.DeepEqual(again, change) {
					t.Fatalf("%+v is sent on as %+v, %v", change, again, err)
				}
			}
		}
		if req.Table == nil {
			return
		}
		state, err := req.Table.State()
		if err != nil {
			return
		}
		got := partition.TableState{Base: state.Base, Complete: state.Complete}
		for _, page := range member.PagesOf(state) {
			part, err := member.TableOf(page).State()
			if err != nil || part.Base != state.Base || part.Complete != state.Complete {
				t.Fatalf("page %+v: %v", page, err)
			}
			got.Records = append(got.Records, part.Records...)
		}
		if !reflect.DeepEqual(got, state) {
			t.Fatalf("%+v is sent on as %+v", state, got)
		}
	})
}

// FuzzDefinitions: what an owner takes from a disk is taken again when it is sent on.
func FuzzDefinitions(f *testing.F) {
	for _, v := range messages() {
		if res, ok := v.(member.CollectResponse); ok {
			data, err := wire.Encode(wire.MsgPack, res)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var res member.CollectResponse
		if wire.Decode(wire.MsgPack, data, &res) != nil {
			return
		}
		state, err := res.Definitions.State()
		if err != nil {
			return
		}
		if again, err := member.DefinitionsOf(state).State(); err != nil || !reflect.DeepEqual(again, state) {
			t.Fatalf("%+v is sent on as %+v, %v", state, again, err)
		}
	})
}
