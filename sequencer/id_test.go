package sequencer_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/sequencer"
)

var (
	_ encoding.TextMarshaler     = sequencer.ID(0)
	_ encoding.TextUnmarshaler   = (*sequencer.ID)(nil)
	_ encoding.BinaryMarshaler   = sequencer.ID(0)
	_ encoding.BinaryUnmarshaler = (*sequencer.ID)(nil)
	_ json.Marshaler             = sequencer.ID(0)
	_ json.Unmarshaler           = (*sequencer.ID)(nil)
	_ driver.Valuer              = sequencer.ID(0)
	_ sql.Scanner                = (*sequencer.ID)(nil)
)

// untouched is the value of the targets of failing decoders, before and after.
const untouched sequencer.ID = 4711

var goodTexts = map[string]sequencer.ID{
	"0":                   0,
	"7":                   7,
	"10":                  10,
	"9007199254740993":    1<<53 + 1,
	"44368264925552640":   44368264925552640,
	"9223372036854775807": math.MaxInt64,
}

var badTexts = map[string]error{
	"":                     strconv.ErrSyntax,
	"-1":                   strconv.ErrSyntax,
	"-0":                   strconv.ErrSyntax,
	"+1":                   strconv.ErrSyntax,
	" 1":                   strconv.ErrSyntax,
	"1 ":                   strconv.ErrSyntax,
	"1\n":                  strconv.ErrSyntax,
	"00":                   strconv.ErrSyntax,
	"01":                   strconv.ErrSyntax,
	"0x1":                  strconv.ErrSyntax,
	"1_000":                strconv.ErrSyntax,
	"1.0":                  strconv.ErrSyntax,
	"1e3":                  strconv.ErrSyntax,
	"1E3":                  strconv.ErrSyntax,
	"abc":                  strconv.ErrSyntax,
	"\u0661":               strconv.ErrSyntax,
	"9223372036854775808":  strconv.ErrRange,
	"18446744073709551616": strconv.ErrRange,
	"99999999999999999999": strconv.ErrRange,
}

func TestParse(t *testing.T) {
	for text, want := range goodTexts {
		got, err := sequencer.Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v; want %d", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("String() of %q = %q", text, got)
		}
	}
	for text, want := range badTexts {
		_, err := sequencer.Parse(text)
		if !errors.Is(err, want) {
			t.Errorf("Parse(%q) = %v, want %v", text, err, want)
			continue
		}
		if !strings.Contains(err.Error(), strconv.Quote(text)) {
			t.Errorf("Parse(%q): %q does not name the value", text, err)
		}
	}
}

func TestParseCutsLongValuesShort(t *testing.T) {
	for _, text := range []string{strings.Repeat("1", 1<<20), strings.Repeat("\xff", 1<<20)} {
		_, err := sequencer.Parse(text)
		if err == nil || len(err.Error()) > 400 || !strings.Contains(err.Error(), "(1048576 bytes)") {
			t.Errorf("Parse of a megabyte: %.400v", err)
		}
	}
}

func TestIDDecodersOfText(t *testing.T) {
	decoders := map[string]func(*sequencer.ID, string) error{
		"UnmarshalText": func(id *sequencer.ID, s string) error { return id.UnmarshalText([]byte(s)) },
		"Scan string":   func(id *sequencer.ID, s string) error { return id.Scan(s) },
		"Scan []byte":   func(id *sequencer.ID, s string) error { return id.Scan([]byte(s)) },
		"JSON string":   func(id *sequencer.ID, s string) error { return id.UnmarshalJSON([]byte(`"` + s + `"`)) },
		"JSON number":   func(id *sequencer.ID, s string) error { return id.UnmarshalJSON([]byte(s)) },
	}
	for name, decode := range decoders {
		t.Run(name, func(t *testing.T) {
			for text, want := range goodTexts {
				got := untouched
				if err := decode(&got, text); err != nil || got != want {
					t.Errorf("%q gives %d, %v; want %d", text, got, err, want)
				}
			}
			for text, want := range badTexts {
				got := untouched
				if err := decode(&got, text); !errors.Is(err, want) || got != untouched {
					t.Errorf("%q gives %d, %v; want %v", text, got, err, want)
				}
			}
		})
	}
}

func TestIDJSON(t *testing.T) {
	type row struct {
		ID    sequencer.ID            `json:"id"`
		Other *sequencer.ID           `json:"other"`
		By    map[sequencer.ID]string `json:"by"`
	}
	const text = `{"id":"9223372036854775807","other":null,"by":{"42":"a"}}`
	var r row
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if r.ID != math.MaxInt64 || r.Other != nil || r.By[42] != "a" {
		t.Errorf("decoded %+v", r)
	}
	if got, err := json.Marshal(r); err != nil || string(got) != text {
		t.Errorf("Marshal = %s, %v; want %s", got, err, text)
	}
}

func TestIDJSONRefuses(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `{}`, `[]`, `[1]`, `""`, `"`, `"null"`, `"\u0031"`, `" 1"`, `""1""`,
		`1.0`, `1e3`, `-1`, `"-1"`, `-0`, `9223372036854775808`,
	} {
		id := untouched
		if err := json.Unmarshal([]byte(text), &id); err == nil || id != untouched {
			t.Errorf("Unmarshal(%s) = %d, %v", text, id, err)
		}
		if err := id.UnmarshalJSON([]byte(text)); err == nil || id != untouched {
			t.Errorf("UnmarshalJSON(%s) = %d, %v", text, id, err)
		}
	}
}

func TestIDScan(t *testing.T) {
	var id sequencer.ID
	if err := id.Scan(int64(42)); err != nil || id != 42 {
		t.Errorf("Scan(int64) = %d, %v", id, err)
	}
	for _, src := range []any{uint64(42), int(42), int32(42), int8(42), uint(42), uint32(42), sql.RawBytes("42"),
		new(sequencer.ID(42)),
		json.Number("42")} {
		id := untouched
		if err := id.Scan(src); err != nil || id != 42 {
			t.Errorf("Scan(%T) = %d, %v", src, id, err)
		}
	}
	var none *sequencer.ID
	if err := id.Scan(none); !errors.Is(err, sequencer.ErrInvalidID) || id != 42 {
		t.Errorf("Scan of a nil *ID = %d, %v", id, err)
	}
	if err := id.Scan(uint64(math.MaxInt64)); err != nil || id != math.MaxInt64 {
		t.Errorf("Scan of the largest ID as uint64 = %d, %v", id, err)
	}
	if err := id.Scan(uint64(math.MaxInt64 + 1)); !errors.Is(err, strconv.ErrRange) {
		t.Errorf("Scan(2^63) = %v, want strconv.ErrRange", err)
	}
	var null sql.Null[sequencer.ID]
	if err := null.Scan(nil); err != nil || null.Valid {
		t.Errorf("Null.Scan(nil) = %+v, %v", null, err)
	}
	if err := null.Scan([]byte("42")); err != nil || null.V != 42 {
		t.Errorf("Null.Scan(42) = %+v, %v", null, err)
	}
	refused := map[any]string{
		nil:                "NULL",
		int64(-1):          "-1",
		float64(1):         "float64",
		true:               "bool",
		"":                 `""`,
		[2]byte{1}:         "[2]uint8",
		uint64(1) << 63:    "9223372036854775808",
		int32(-1):          "-1",
		math.MinInt:        strconv.Itoa(math.MinInt),
		json.Number("1.5"): "1.5",
	}
	if strconv.IntSize == 64 {
		refused[uint(math.MaxUint)] = "18446744073709551615"
	}
	for src, part := range refused {
		id := untouched
		err := id.Scan(src)
		if err == nil || id != untouched || !strings.Contains(err.Error(), part) {
			t.Errorf("Scan(%#v) = %d, %v; want an error that says %q", src, id, err, part)
		}
	}
}

func TestNegativeIDsAreNotEncoded(t *testing.T) {
	for _, id := range []sequencer.ID{-1, math.MinInt64} {
		encoders := map[string]func() ([]byte, error){
			"MarshalText":    id.MarshalText,
			"MarshalJSON":    id.MarshalJSON,
			"MarshalBinary":  id.MarshalBinary,
			"MarshalCBOR":    id.MarshalCBOR,
			"MarshalMsgpack": id.MarshalMsgpack,
		}
		for name, encode := range encoders {
			if got, err := encode(); err == nil || got != nil {
				t.Errorf("%s of %d = %q, %v", name, id, got, err)
			}
		}
		if got, err := id.Value(); err == nil || got != nil {
			t.Errorf("Value of %d = %v, %v", id, got, err)
		}
		if id.String() != strconv.FormatInt(int64(id), 10) {
			t.Errorf("String of %d = %q", int64(id), id)
		}
	}
}

func TestIDRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := sequencer.ID(rapid.Int64Min(0).Draw(t, "id"))
		var fromText, fromJSON, fromBinary, fromValue sequencer.ID

		text, err := id.MarshalText()
		if err = errors.Join(err, fromText.UnmarshalText(text)); err != nil || fromText != id {
			t.Fatalf("text %q of %d: %d, %v", text, id, fromText, err)
		}
		data, err := json.Marshal(id)
		if err = errors.Join(err, json.Unmarshal(data, &fromJSON)); err != nil || fromJSON != id {
			t.Fatalf("JSON %s of %d: %d, %v", data, id, fromJSON, err)
		}
		data, err = id.MarshalBinary()
		if err = errors.Join(err, fromBinary.UnmarshalBinary(data)); err != nil || fromBinary != id {
			t.Fatalf("binary %x of %d: %d, %v", data, id, fromBinary, err)
		}
		value, err := id.Value()
		if err = errors.Join(err, fromValue.Scan(value)); err != nil || fromValue != id {
			t.Fatalf("value %v of %d: %d, %v", value, id, fromValue, err)
		}
		if !driver.IsValue(value) {
			t.Fatalf("Value() is a %T", value)
		}
	})
}
