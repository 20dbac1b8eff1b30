package sequencer_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Accepted input is encoded to the same bytes again: every ID and every identity has one
// encoding. JSON has two on input, and one on output.

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0", "9223372036854775807", "9223372036854775808", "-1", "+1", "007", "1e3", " 1", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := sequencer.Parse(s)
		if err == nil && (id < 0 || id.String() != s) {
			t.Errorf("Parse(%q) = %d", s, id)
		}
	})
}

func FuzzIDText(f *testing.F) {
	for _, seed := range []string{"0", "44368264925552640", "00", "-0", "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var id sequencer.ID
		if id.UnmarshalText(text) != nil {
			return
		}
		if got, err := id.MarshalText(); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q is written as %q, %v", text, got, err)
		}
	})
}

func FuzzIDJSON(f *testing.F) {
	for _, seed := range []string{`"0"`, `0`, `"9223372036854775807"`, `9223372036854775807`, `null`, `-0`, `1.0`,
		`"\u0031"`, ` 1 `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var id sequencer.ID
		if json.Unmarshal(data, &id) != nil {
			return
		}
		want := bytes.Trim(data, " \t\r\n")
		if want[0] != '"' {
			want = append(append([]byte{'"'}, want...), '"')
		}
		if got, err := json.Marshal(id); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q is written as %q, %v", data, got, err)
		}
	})
}

func FuzzIDBytes(f *testing.F) {
	for _, seed := range []string{"\x00\x00\x00\x00\x00\x00\x00\x00", "\x7f\xff\xff\xff\xff\xff\xff\xff",
		"\x80\x00\x00\x00\x00\x00\x00\x00", "", "\xcf", "\xcc\x80", "\x18\x18"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if id, err := sequencer.FromBytes(data); err == nil {
			if got := id.Bytes(); !bytes.Equal(got[:], data) {
				t.Errorf("%x is written as %x", data, got)
			}
		}
		var cbor, msgpack sequencer.ID
		if cbor.UnmarshalCBOR(data) == nil {
			again := untouched
			if got, err := cbor.MarshalCBOR(); err != nil || again.UnmarshalCBOR(got) != nil || again != cbor ||
				len(got) > len(data) {
				t.Errorf("CBOR %x is written as %x, %v", data, got, err)
			}
		}
		if msgpack.UnmarshalMsgpack(data) == nil {
			again := untouched
			if got, err := msgpack.MarshalMsgpack(); err != nil || again.UnmarshalMsgpack(got) != nil || again != msgpack ||
				len(got) > len(data) {
				t.Errorf("MessagePack %x is written as %x, %v", data, got, err)
			}
		}
	})
}

// FuzzIDSQL: IDs survive a column of integers and one of text, and each ID has only one
// text.
func FuzzIDSQL(f *testing.F) {
	f.Add(int64(0), "0")
	f.Add(int64(-1), "-1")
	f.Add(int64(1<<63-1), "9223372036854775807")
	f.Add(int64(44368264925552640), "044368264925552640")
	f.Fuzz(func(t *testing.T, v int64, text string) {
		var number, words, raw sequencer.ID
		err := number.Scan(v)
		if (err == nil) != (v >= 0) {
			t.Fatalf("%d: %v", v, err)
		}
		if got, valueErr := sequencer.ID(v).Value(); (valueErr == nil) != (err == nil) || err == nil && got != v {
			t.Errorf("%d is stored as %v, %v", v, got, valueErr)
		}
		err = words.Scan(text)
		if rawErr := raw.Scan([]byte(text)); (rawErr == nil) != (err == nil) || words != raw {
			t.Errorf("%q is %d as text, %v, and %d as bytes, %v", text, words, err, raw, rawErr)
		}
		if err == nil && words.String() != text {
			t.Errorf("%q is read as %d", text, words)
		}
	})
}

func FuzzIdentityText(f *testing.F) {
	for _, seed := range []string{"00112233445566778899aabbccddeeff", "00112233445566778899AABBCCDDEEFF", "00", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var id bridge.ID
		var life bridge.Life
		err := id.UnmarshalText(text)
		if lifeErr := life.UnmarshalText(text); (err == nil) != (lifeErr == nil) {
			t.Fatalf("%q: attachment ID %v, life %v", text, err, lifeErr)
		}
		if err == nil && (id.String() != string(text) || life.String() != string(text)) {
			t.Errorf("%q is written as %v and %v", text, id, life)
		}
	})
}

// FuzzDecompose: an ID below the layout's end is composed of its parts again, and no other.
func FuzzDecompose(f *testing.F) {
	f.Add(int64(0), 128, 0, 0, 0)
	f.Add(int64(1<<63-1), 8192, 0, 0, 0)
	f.Add(int64(44368264925552640), 1000, 0, 0, 0)
	f.Add(int64(1541815603606036480), 0, 63, 22, 1024)
	f.Add(int64(1<<53-1), 64, 53, 12, 64)
	f.Add(int64(1<<53), 64, 53, 12, 64)
	f.Fuzz(func(t *testing.T, v int64, nodes, bits, low, most int) {
		l := sequencer.Layout{Bits: bits, LowBits: low, Nodes: most}
		d, err := sequencer.Define("orders", sequencer.Config{Nodes: nodes, Layout: l})
		if err != nil {
			return
		}
		fits := v >= 0 && v>>(d.Config().Layout.Bits-1)>>1 == 0
		got, err := d.Compose(d.Decompose(sequencer.ID(v)))
		if (err == nil) != fits || (err == nil && got != sequencer.ID(v)) {
			t.Errorf("%d with %d nodes of %v is composed as %d, %v", v, nodes, l, got, err)
		}
	})
}

func FuzzParseLayout(f *testing.F) {
	for _, seed := range []string{"default", "twitter", "63/22/1024", "53/12/64", "0/0/0", "063/22/1024", "/", "-1/1/1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := sequencer.ParseLayout(text)
		if err != nil {
			return
		}
		if again, err := sequencer.ParseLayout(l.String()); err != nil || again.String() != l.String() {
			t.Errorf("%q is %v, read again as %v, %v", text, l, again, err)
		}
		if d, err := sequencer.Define("orders", sequencer.Config{Layout: l}); err == nil &&
			d.Config().Layout.String() != l.String() {
			t.Errorf("%q defines %v", text, d)
		}
	})
}
