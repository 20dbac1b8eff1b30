package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// refused wants an error of Decode into the type of v, little memory, and no panic,
// and the same of DecodeTolerant unless only an unknown field is wrong.
func refused(t *testing.T, kind string, v any, data string, allowed uint64) {
	t.Helper()
	refusedBy(t, wire.Decode, kind, v, data, allowed)
	if !strings.Contains(t.Name(), "unknown") {
		refusedBy(t, wire.DecodeTolerant, kind, v, data, allowed)
	}
}

func refusedBy(t *testing.T, decode func(kind string, data []byte, v any) error, kind string, v any, data string,
	allowed uint64) {
	t.Helper()
	p := reflect.New(reflect.TypeOf(v)).Interface()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := decode(kind, []byte(data), p)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, wire.ErrBadRequest) {
		t.Errorf("%s: %T takes %.60q: %v", kind, v, data, err)
	}
	if err != nil && len(err.Error()) > 500 {
		t.Errorf("%s: an error of %d bytes", kind, len(err.Error()))
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > allowed {
		t.Errorf("%s: %T made of %.60q takes %d bytes of memory", kind, v, data, got)
	}
}

const mebi = 1 << 20

func TestDecodeRefuses(t *testing.T) {
	for _, kind := range kinds {
		for _, v := range messages() {
			data, err := wire.Encode(kind, v)
			if err != nil {
				t.Fatal(err)
			}
			for n := 0; n < len(data); n += long.Or(3, 1) {
				refused(t, kind, v, string(data[:n]), 2*mebi)
			}
			refused(t, kind, v, string(data)+"x", 2*mebi)
			refused(t, kind, v, string(data)+string(data), 2*mebi)
		}
	}
}

func TestDecodeRefusesJSON(t *testing.T) {
	tests := map[string]string{
		"empty":          ``,
		"not JSON":       `<html>`,
		"deep, ignored":  `{"new":` + strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100) + `}`,
		"many, ignored":  `{"new":[null` + strings.Repeat(",null", 200000) + `]}`,
		"unknown field":  `{"holder":"h","lease":1}`,
		"unknown inside": `{"claims":[{"x":1}]}`,
		"wrong type":     `{"holder":1}`,
		"list":           `[1]`,
		"negative":       `{"claims":[{"version":-1}]}`,
		"node too large": `{"claims":[{"node":65536}]}`,
		"short identity": `{"claims":[{"id":"00"}]}`,
		"deep":           strings.Repeat("[", 500000),
		"deep in field":  `{"claims":` + strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100) + `}`,
		"many":           `{"claims":[null` + strings.Repeat(",null", 200000) + `]}`,
		"open string":    `{"holder":"\`,
		"closed only":    `]]]}`,
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) { refused(t, wire.JSON, wire.RenewRequest{}, data, 2*mebi) })
	}
}

func TestDecodeRefusesMsgPack(t *testing.T) {
	in := func(field, value string) string { // one claim with one field
		return "\x81\xa6claims\x91\x81" + string([]byte{byte(0xa0 + len(field))}) + field + value
	}
	tests := map[string]string{
		"empty":               "",
		"reserved":            "\xc1",
		"unknown field":       "\x81\xa5lease\x01",
		"unknown inside":      in("x", "\x01"),
		"struct as list":      "\x92\xa1h\x90",
		"claim as list":       "\x81\xa6claims\x91\x96\x01\x01\x01\x01\x01\x01",
		"key no text":         "\x81\x01\x01",
		"negative version":    in("version", "\xff"),
		"negative version 64": in("version", "\xd3\xff\xff\xff\xff\xff\xff\xff\xff"),
		"node too large":      in("node", "\xce\x00\x01\x00\x00"),
		"negative node":       in("node", "\xd0\x80"),
		"until too large":     in("until", "\xcf\x80\x00\x00\x00\x00\x00\x00\x00"),
		"number for identity": in("id", "\x01"),
		"short identity":      in("id", "\xa200"),
		"array32 of 4 GiB":    "\x81\xa6claims\xdd\xff\xff\xff\xff",
		"map32 of 4 GiB":      "\xdf\xff\xff\xff\xff",
		"map32 inside":        "\x81\xa6claims\x91\xdf\xff\xff\xff\xff",
		"str32 of 4 GiB":      "\x81\xa6holder\xdb\xff\xff\xff\xff",
		"bin32 of 4 GiB":      "\x81\xa6holder\xc6\xff\xff\xff\xff",
		"key of 4 GiB":        "\x81\xdb\xff\xff\xff\xff",
		"ext32 of 4 GiB":      "\x81\xa6holder\xc9\xff\xff\xff\xff\x01",
		"array32, padded":     "\x81\xa6claims\xdd\x00\x0f\x42\x40" + strings.Repeat("\xc0", 1000000),
		"str32, padded":       "\x81\xa6holder\xdb\xff\xff\xff\xff" + strings.Repeat("a", 1000000),
		"large field ignored": "\x82\xa3new\xc6\xff\xff\xff\xff",
		"long list ignored":   "\x81\xa3new\xdd\x00\x0f\x42\x40" + strings.Repeat("\xc0", 1000000),
		"deep field ignored":  "\x81\xa3new" + strings.Repeat("\x91", 1000000),
		"deep lists":          strings.Repeat("\x91", 1000000),
		"deep maps":           strings.Repeat("\x81\xa1a", 300000),
		"deep in field":       "\x81\xa6claims" + strings.Repeat("\x91", 100) + "\xc0",
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) { refused(t, wire.MsgPack, wire.RenewRequest{}, data, 2*mebi) })
	}
}

// TestDecodeOfManySmallElements: lists of elements as small as can be cost memory
// in proportion to the elements in JSON, where there are few, and nothing in
// msgpack, where they are refused.
func TestDecodeOfManySmallElements(t *testing.T) {
	var got wire.RenewRequest
	small := `{"claims":[null` + strings.Repeat(",null", wire.MaxElements-1) + `]}`
	if n := allocated(func() {
		if err := wire.Decode(wire.JSON, []byte(small), &got); err != nil || len(got.Claims) != wire.MaxElements {
			t.Errorf("%d claims, %v", len(got.Claims), err)
		}
	}); n > 12*mebi {
		t.Errorf("%d bytes of memory", n)
	}
	refused(t, wire.MsgPack, wire.RenewRequest{}, "\x81\xa6claims\xdc\x27\x10"+strings.Repeat("\xc0", wire.MaxElements),
		mebi)
}

func TestContentType(t *testing.T) {
	tests := map[string]string{
		"application/json": wire.JSON, "application/json; charset=utf-8": wire.JSON,
		"application/msgpack": wire.MsgPack, "Application/MsgPack": wire.MsgPack,
		"": "", "text/html": "", "application/x-www-form-urlencoded": "", ";;": "", strings.Repeat("x", 10000): "",
	}
	for header, want := range tests {
		got, err := wire.ContentType(header)
		if got != want || errors.Is(err, wire.ErrContentType) != (want == "") {
			t.Errorf("%.40q is %q, %v; want %q", header, got, err, want)
		}
	}
}

func TestReadBody(t *testing.T) {
	data, err := wire.ReadBody(strings.NewReader(strings.Repeat("x", wire.MaxBody)))
	if err != nil || len(data) != wire.MaxBody {
		t.Errorf("a body of exactly MaxBody: %d bytes, %v", len(data), err)
	}
	_, err = wire.ReadBody(strings.NewReader(strings.Repeat("x", wire.MaxBody+1)))
	if !errors.Is(err, wire.ErrBadRequest) {
		t.Errorf("a body of MaxBody+1: %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = wire.ReadBody(endless{})
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; err == nil || bytes > 8*mebi {
		t.Errorf("an endless body: %v, %d bytes of memory", err, bytes)
	}
	if _, err = wire.ReadBody(iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken body: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestEvents(t *testing.T) {
	var stream bytes.Buffer
	sent := []wire.Event{{}, {Name: strings.Repeat("✓", 85), Life: attachment.Life{9}}, {Name: "b"}}
	for _, e := range sent {
		if err := wire.WriteEvent(&stream, e); err != nil {
			t.Fatal(err)
		}
	}
	whole := stream.String()
	r := iotest.OneByteReader(&stream)
	for _, want := range sent {
		if got, err := wire.ReadEvent(r); err != nil || got != want {
			t.Errorf("%v arrived as %v, %v", want, got, err)
		}
	}
	if _, err := wire.ReadEvent(r); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the stream: %v", err)
	}
	first := 4 + int(binary.BigEndian.Uint32([]byte(whole)))
	for n := range first {
		if _, err := wire.ReadEvent(strings.NewReader(whole[:n])); err == nil {
			t.Errorf("an event cut off after %d bytes is taken", n)
		}
	}
	for _, data := range []string{"\xff\xff\xff\xff", "\x00\x00\x10\x01" + strings.Repeat("x", 4097), "\x00\x00\x00\x00",
		"\x00\x00\x00\x01\xc1"} {
		if _, err := wire.ReadEvent(strings.NewReader(data)); err == nil {
			t.Errorf("%.20q is an event", data)
		}
	}
	if err := wire.WriteEvent(&failing{}, wire.Event{}); err == nil {
		t.Error("a failed write returns no error")
	}
}

type failing struct{}

func (*failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestNumbersInMaps: a number in a map is refused if its type cannot have it, as in a field.
func TestNumbersInMaps(t *testing.T) {
	for _, kind := range kinds {
		data, err := wire.Encode(kind, map[string]any{"nodes": map[string]any{"orders": 1<<16 + 5}})
		if err != nil {
			t.Fatal(err)
		}
		var got wire.IdentityRegisterResponse
		if err := wire.DecodeTolerant(kind, data, &got); !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("%s: %v, %v", kind, got.Nodes, err)
		}
	}
}
