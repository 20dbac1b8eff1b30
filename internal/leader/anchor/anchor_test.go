package anchor

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

func someRecord() Record {
	return Record{Claim: claim(3), Ceiling: began, Grid: roster.GridID{1, 2}, Holder: self(4), Nonce: "a1", Ahead: 30_000}
}

// TestRecordBody: the format, byte by byte, since other versions read it.
func TestRecordBody(t *testing.T) {
	const want = `{"format":1,"claim":"00000000000000000000000000000003","ceiling_ms":1800000000000,` +
		`"grid":"01020000000000000000000000000000","holder":"0000000000000004-0000000000000004","nonce":"a1","ahead_ms":30000}`
	body, err := someRecord().Encode()
	if err != nil || string(body) != want {
		t.Fatalf("%s, %v", body, err)
	}
	if got, err := Decode(body); err != nil || got != someRecord() {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDamagedBodies(t *testing.T) {
	whole, _ := someRecord().Encode()
	for name, body := range map[string]string{
		"empty":           "",
		"not an object":   "[]",
		"cut off":         string(whole[:len(whole)-1]),
		"more":            string(whole) + "{}",
		"another field":   strings.Replace(string(whole), `"nonce"`, `"other":1,"nonce"`, 1),
		"a later format":  strings.Replace(string(whole), `"format":1`, `"format":2`, 1),
		"no claim":        strings.Replace(string(whole), "00000000000000000000000000000003", "", 1),
		"negative":        strings.Replace(string(whole), "1800000000000", "-1", 1),
		"far future":      strings.Replace(string(whole), "1800000000000", "999999999999999", 1),
		"no holder":       strings.Replace(string(whole), "0000000000000004-0000000000000004", "me", 1),
		"no nonce":        strings.Replace(string(whole), `"a1"`, `""`, 1),
		"behind":          strings.Replace(string(whole), "30000", "-1", 1),
		"far ahead":       strings.Replace(string(whole), "30000", "7200001", 1),
		"a long nonce":    strings.Replace(string(whole), "a1", strings.Repeat("a", 65), 1),
		"a body too long": string(whole) + strings.Repeat(" ", bodyMax),
	} {
		if r, err := Decode([]byte(body)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// FuzzDecode: a body that is read is written the same again, apart from its spaces and
// the order of its fields.
func FuzzDecode(f *testing.F) {
	body, _ := someRecord().Encode()
	f.Add(body)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Decode(again); err != nil || back != r || bytes.Contains(again, []byte("\n")) {
			t.Fatalf("%+v became %+v, %v", r, back, err)
		}
	})
}
