package frame

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func parseHead(b []byte) (h Head, rest []byte, err error) {
	return ParseHead(b, func(b []byte) string { return string(b) })
}

func TestHeader(t *testing.T) {
	for _, h := range []Header{
		{Length: longest[Request], Number: 1, Kind: Request},
		{Length: longest[Data], Number: 1<<32 - 1, Kind: Data, Flags: Last},
		{Number: 7, Kind: Cancel},
		{Kind: Pong},
	} {
		if got, err := ParseHeader(AppendHeader(nil, h)); err != nil || got != h {
			t.Errorf("%+v arrives as %+v, %v", h, got, err)
		}
	}
	for what, h := range map[string]Header{
		"kind 0":                {Number: 1},
		"an unknown kind":       {Number: 1, Kind: Pong + 1},
		"too long":              {Number: 1, Kind: Data, Length: Chunk + 1},
		"a cancel with payload": {Number: 1, Kind: Cancel, Length: 1},
		"a ping with a number":  {Number: 1, Kind: Ping},
		"data without a number": {Kind: Data, Length: 1},
		"a last request":        {Number: 1, Kind: Request, Flags: Last},
		"unknown flags":         {Number: 1, Kind: Data, Flags: 2},
	} {
		if got, err := ParseHeader(AppendHeader(nil, h)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

func TestHead(t *testing.T) {
	h := Head{Path: "/v1/attach", Target: "m1-x", Grid: "g", Claim: "c", Timeout: 2000, Length: 3}
	b, err := AppendHead(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	got, rest, err := parseHead(append(bytes.Clone(b), "abc"...))
	if err != nil || got != h || string(rest) != "abc" {
		t.Errorf("%+v, %q, %v", got, rest, err)
	}
	later := append(bytes.Clone(b), "new"...)
	later[1] += 3
	if got, rest, err = parseHead(append(later, "abc"...)); err != nil || got != h || string(rest) != "abc" {
		t.Errorf("with a field of a later release: %+v, %q, %v", got, rest, err)
	}
	for n := range b {
		if _, _, err := parseHead(b[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	long, err := AppendHead(nil, Head{Path: "/v1/attach", Length: Inline + 1})
	if err != nil {
		t.Fatal(err)
	}
	beyond := append(bytes.Clone(b), "abc"...)
	beyond[len(b)-2]++ // the length of the last field
	for what, in := range map[string][]byte{
		"a body longer than stated":       append(bytes.Clone(b), "abcd"...),
		"a body shorter than stated":      append(bytes.Clone(b), "ab"...),
		"more of a body than may be":      append(long, make([]byte, Inline+1)...),
		"a field that goes into the body": beyond,
	} {
		if h, rest, err := parseHead(in); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %q, %v", what, h, rest, err)
		}
	}
	if _, err := AppendHead(nil, Head{Path: strings.Repeat("x", 256)}); !errors.Is(err, ErrMalformed) {
		t.Errorf("a path of 256 bytes: %v", err)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(AppendHeader(nil, Header{Length: 5, Number: 1, Kind: Request}))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		if h.Length > maxHead+Chunk || !bytes.Equal(AppendHeader(nil, h), b) {
			t.Errorf("%x is %+v", b, h)
		}
	})
}

func FuzzHead(f *testing.F) {
	b, _ := AppendHead(nil, Head{Path: "/v1/attach", Target: "m1-x", Grid: "g", Timeout: 5, Length: 2})
	f.Add(append(b, "ab"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rest, err := parseHead(b)
		if err != nil {
			return
		}
		again, err := AppendHead(nil, h)
		if err != nil {
			t.Fatal(err)
		}
		if got, more, err := parseHead(append(again, rest...)); err != nil || got != h || !bytes.Equal(more, rest) {
			t.Errorf("%+v is read again as %+v, %v", h, got, err)
		}
	})
}

func FuzzStatus(f *testing.F) {
	f.Add([]byte{0, 200, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if status, rest, err := ParseStatus(b); err == nil && !bytes.Equal(append(AppendStatus(nil, status), rest...), b) {
			t.Errorf("%x is %d, %x", b, status, rest)
		}
	})
}
