package record

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

const wholeBody = `{"taskId":"web-1","version":7,"timestamp":1795334415000,"knownNodesMapping":{"0":7,"1":3},` +
	`"grant":{"state":"held","attachment":"01000000000000000000000000000000","life":"00000000000000010200000000000000",` +
	`"from":1795334400000,"until":1795334415000,"bound":1795334415000,"lastUsed":1795334399120,"graceful":false,"nonce":"n1","generation":""}}`

func whole() Record {
	return Record{
		State: Held, Task: "web-1", Version: 7, Timestamp: 1795334415000, Known: map[sequencer.NodeID]uint64{1: 3, 0: 7},
		Attachment: attachment.ID{1}, Life: NewLife(1, [8]byte{2}), From: 1795334400000, Until: 1795334415000,
		Bound: 1795334415000, LastUsed: 1795334399120, Nonce: "n1",
	}
}

func TestRecordBodyIsCanonical(t *testing.T) {
	if got := string(whole().Encode()); got != wholeBody {
		t.Errorf("got %s", got)
	}
	got, err := Decode([]byte(wholeBody), whole().Meta())
	if err != nil || !reflect.DeepEqual(got, whole()) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := string(Born(NewLife(1, [8]byte{}), "n").Encode()); !strings.Contains(got, `"knownNodesMapping":{}`) {
		t.Errorf("got %s", got)
	}
}

// TestForeignBodiesAreDamaged: a body that the rules do not make is refused and never
// read as something else.
func TestForeignBodiesAreDamaged(t *testing.T) {
	for what, edit := range map[string][2]string{
		"not JSON":                   {"{", ""},
		"another program's":          {`"grant"`, `"nodeInstance"`},
		"an unknown key":             {`"graceful":false`, `"graceful":false,"more":1`},
		"an unknown state":           {`"held"`, `"leased"`},
		"held by none":               {"01000000000000000000000000000000", "00000000000000000000000000000000"},
		"free with an attachment":    {`"held"`, `"free"`},
		"no life":                    {"00000000000000010200000000000000", "00000000000000000000000000000000"},
		"no nonce":                   {`"n1"`, `""`},
		"a grant above its bound":    {`"bound":1795334415000`, `"bound":1795334414999`},
		"a grant that ends too soon": {`"from":1795334400000`, `"from":1795334415001`},
		"a negative time":            {`"lastUsed":1795334399120`, `"lastUsed":-1`},
		"a time after 9999":          {`"timestamp":1795334415000`, `"timestamp":253402300800000`},
		"a version too large":        {`"version":7`, `"version":9223372036854775808`},
		"more after it":              {`"generation":""}}`, `"generation":""}}{}`},
	} {
		text := strings.Replace(wholeBody, edit[0], edit[1], 1)
		if text == wholeBody {
			t.Fatalf("%s: nothing was changed", what)
		}
		if r, err := Decode([]byte(text), nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %+v, %v", what, r, err)
		}
	}
	if _, err := Decode([]byte("null"), nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("null: %v", err)
	}
}

// TestMetadataThatDisagreesIsDamage is Z20.
func TestMetadataThatDisagreesIsDamage(t *testing.T) {
	for _, key := range []string{MetaTask, MetaVersion, MetaAcquirable} {
		meta := whole().Meta()
		meta[key] += "0"
		if _, err := Decode([]byte(wholeBody), meta); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
		delete(meta, key)
		if _, err := Decode([]byte(wholeBody), meta); err != nil {
			t.Errorf("without %s: %v", key, err)
		}
	}
}

// TestEmptyBodyIsFreeWithTheVersionOfItsMetadata: the original releases an object by an
// empty body.
func TestEmptyBodyIsFreeWithTheVersionOfItsMetadata(t *testing.T) {
	r, err := Decode(nil, map[string]string{MetaVersion: "7", MetaTask: "x"})
	if err != nil || r.State != Free || r.Version != 7 || !r.Graceful {
		t.Fatalf("got %+v, %v", r, err)
	}
	if _, err := Decode(nil, map[string]string{MetaVersion: "seven"}); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
	// It shows no bound, so the first grant begins where none of an earlier holder can end.
	b := Bounds{Now: 1000, Window: 15, Quarantine: 20, Life: NewLife(1, [8]byte{})}
	taken, err := r.Take(attachment.ID{1}, "t", "n", b)
	if err != nil || taken.Version != 8 || taken.From != 1020 || !taken.Grant().Empty() {
		t.Errorf("got %+v, %v", taken, err)
	}
	b.Life = NewLife(2, [8]byte{})
	if _, err := r.Take(attachment.ID{1}, "t", "n", b); !errors.Is(err, ErrDamaged) {
		t.Errorf("in a later life: %v", err)
	}
}

// TestRecordOfAnEmptiedStoresLifeIsDamaged: lives are numbered, and those of a store that
// was emptied and filled again have the same numbers.
func TestRecordOfAnEmptiedStoresLifeIsDamaged(t *testing.T) {
	for _, r := range []Record{Born(NewLife(1, [8]byte{1}), "n"),
		{State: Closed, Life: NewLife(1, [8]byte{1}), Nonce: "n"}} {
		b := Bounds{Now: 1000, Window: 15, Life: NewLife(1, [8]byte{2})}
		if got, err := r.Take(attachment.ID{1}, "t", "m", b); !errors.Is(err, ErrDamaged) {
			t.Errorf("%v: got %+v, %v", r.State, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(wholeBody), "7")
	f.Add(Born(NewLife(1, [8]byte{}), "n").Encode(), "")
	f.Add([]byte(nil), "3")
	f.Fuzz(func(t *testing.T, text []byte, version string) {
		r, err := Decode(text, map[string]string{MetaVersion: version})
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if len(text) == 0 {
			return
		}
		again, err := Decode(r.Encode(), r.Meta())
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
		// No record that is read makes a rule panic or write a body that cannot be read.
		b := Bounds{Now: 1_790_000_000_000, Window: 15000, Quarantine: 20000, Life: r.Life}
		id := attachment.ID{9}
		for _, next := range []func() (Record, error){
			func() (Record, error) { return r.Take(id, "task", "m", b) },
			func() (Record, error) { return r.Extend(r.Attachment, nil, "m", b) },
			func() (Record, error) {
				n, _ := r.Return(attachment.Release{ID: r.Attachment, LastUsed: r.From}, "m")
				return n, nil
			},
			func() (Record, error) { n, _, err := r.Retire(r.Life, "m"); return n, err },
			func() (Record, error) { n, _, err := r.Close(r.Life, "m"); return n, err },
		} {
			if n, err := next(); err == nil && n.Nonce != "" {
				n.Encode()
			}
		}
	})
}

// TestDocumentCarriesTheLayout: another layout or node range of the name would make equal IDs.
func TestDocumentCarriesTheLayout(t *testing.T) {
	def, err := sequencer.Define("tweets", sequencer.Config{Layout: sequencer.Twitter(), Nodes: 16,
		NodeRange: sequencer.NodeRange{Lo: 4, Hi: 11}})
	if err != nil {
		t.Fatal(err)
	}
	text := NewDocument(def, [8]byte{1}, "n").Encode()
	if d, err := DecodeDocument(text); err != nil || d.Definition != def {
		t.Errorf("%s is read as %v, %v", text, d.Definition, err)
	}
	if plain := NewDocument(definition("orders"), [8]byte{1}, "n").Encode(); strings.Contains(string(plain), "layout") ||
		strings.Contains(string(plain), "node_range") {
		t.Errorf("the zero layout or range is in %s", plain)
	}
	for what, nodes := range map[string]string{
		"a node too many": `{"lo":4,"hi":16}`, "all nodes, spelled": `{"lo":0,"hi":15}`,
	} {
		other := strings.Replace(string(text), `{"lo":4,"hi":11}`, nodes, 1)
		if d, err := DecodeDocument([]byte(other)); !errors.Is(err, ErrDamaged) || other == string(text) {
			t.Errorf("%s: got %v, %v", what, d.Definition, err)
		}
	}
	for what, layout := range map[string]string{
		"half a layout":            `{"bits":63,"low_bits":22,"nodes":0}`,
		"the zero layout, spelled": `{"bits":63,"low_bits":23,"nodes":8192}`,
		"more than a layout":       `{"bits":63,"low_bits":22,"nodes":1024,"x":1}`,
	} {
		other := strings.Replace(string(text), `{"bits":63,"low_bits":22,"nodes":1024}`, layout, 1)
		if d, err := DecodeDocument([]byte(other)); !errors.Is(err, ErrDamaged) || other == string(text) {
			t.Errorf("%s: got %v, %v", what, d.Definition, err)
		}
	}
}

// TestDocumentStatesTheWindow: the window stays in every later body; a window that no client can have is damage.
func TestDocumentStatesTheWindow(t *testing.T) {
	d, stated := NewDocument(definition("orders"), [8]byte{1}, "n").State(15_000, "m")
	if _, again := d.State(20_000, "o"); !stated || again {
		t.Errorf("stated is %v, a second time %v", stated, again)
	}
	if got, err := DecodeDocument(d.Encode()); err != nil || got != d || got.Window != 15_000 {
		t.Errorf("%s is read as %+v, %v", d.Encode(), got, err)
	}
	for _, window := range []string{"-1", "86400001"} {
		other := strings.Replace(string(d.Encode()), `"window_ms":15000`, `"window_ms":`+window, 1)
		if got, err := DecodeDocument([]byte(other)); !errors.Is(err, ErrDamaged) {
			t.Errorf("a window of %s ms: %+v, %v", window, got, err)
		}
	}
}

func FuzzDecodeDocument(f *testing.F) {
	small, err := sequencer.Define("small", sequencer.Config{Layout: sequencer.JSSafe()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(NewDocument(small, [8]byte{1}, "n").Encode())
	f.Add(NewDocument(definition("orders"), [8]byte{1}, "n").Encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := DecodeDocument(text)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if again, err := DecodeDocument(d.Encode()); err != nil || again != d {
			t.Fatalf("%+v became %+v, %v", d, again, err)
		}
	})
}

func FuzzDecodeMarker(f *testing.F) {
	f.Add(Marker{Slots: 3, Made: 4, Nonce: "n"}.Encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := DecodeMarker(text)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if again, err := DecodeMarker(m.Encode()); err != nil || again != m {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	for _, name := range []string{"orders", "a/b", "..", "%2F", "ü?#", "0.json"} {
		f.Add("", name, uint16(7))
		f.Add("ids/", name, uint16(0))
	}
	f.Fuzz(func(t *testing.T, prefix, name string, node uint16) {
		if _, err := sequencer.Define(name, sequencer.Config{}); err != nil {
			return
		}
		k := KeysOf(prefix, name)
		for key, want := range map[string]Part{k.Document(): PartDocument, k.Marker(): PartMarker,
			k.Record(sequencer.NodeID(node)): PartRecord} {
			got, part, n := ParseKey(prefix, key)
			if got != name || part != want || part == PartRecord && n != sequencer.NodeID(node) {
				t.Fatalf("%q: got %q, %v, %d", key, got, part, n)
			}
			if strings.Count(strings.TrimPrefix(key, prefix), "/") != 1 {
				t.Fatalf("%q has another segment", key)
			}
		}
	})
}

func TestForeignKeysAreNoKeys(t *testing.T) {
	for _, key := range []string{"", "orders", "orders/", "orders/x.json", "orders/07.json", "orders/70000.json",
		"orders/1.json/2", "a b/sequencer.json", "/sequencer.json", "other/orders/1.json"} {
		if name, part, _ := ParseKey("", key); part != PartOther {
			t.Errorf("%q: got %q, %v", key, name, part)
		}
	}
	if _, part, _ := ParseKey("ids/", "orders/1.json"); part != PartOther {
		t.Errorf("a key outside the prefix: %v", part)
	}
}

// TestLastLifeIsFollowedByNone: a document with the last number, which no count of lives comes to, has no next life.
func TestLastLifeIsFollowedByNone(t *testing.T) {
	d := NewDocument(definition("orders"), [8]byte{1}, "n")
	d.Life, d.Phase = NewLife(1<<64-1, [8]byte{1}), Destroyed
	d, err := DecodeDocument(d.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if next, err := d.Recreate(d.Definition, [8]byte{2}, "m"); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %+v, %v", next, err)
	}
}
