package sequencer_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// span is how long a sequencer has IDs, in milliseconds.
const span clustertime.Span = 1 << 40

// define returns a definition that is expected to be good.
func define(t testing.TB, name string, cfg sequencer.Config) sequencer.Definition {
	t.Helper()
	d, err := sequencer.Define(name, cfg)
	if err != nil {
		t.Fatalf("Define(%q, %+v): %v", name, cfg, err)
	}
	return d
}

func TestDefineRounds(t *testing.T) {
	d := define(t, "orders", sequencer.Config{})
	if d.Name() != "orders" || d.Config().Epoch != epoch.Default || d.Config().Nodes != 8192 {
		t.Errorf("Define with the zero Config = %v", d)
	}
	if got, want := d.String(), `"orders" (epoch 2026-01-01T00:00:00.000Z, 8192 nodes)`; got != want {
		t.Errorf("String() = %s, want %s", got, want)
	}
	for _, nodes := range []int{4097, 8000, 8191, 8192} {
		if got := define(t, "orders", sequencer.Config{Nodes: nodes}); got != d {
			t.Errorf("%d nodes define %v, want the same as 8192", nodes, got)
		}
	}
	for _, other := range []sequencer.Definition{
		define(t, "orders2", sequencer.Config{}),
		define(t, "orders", sequencer.Config{Nodes: 4096}),
		define(t, "orders", sequencer.Config{Epoch: epoch.Twitter}),
	} {
		if other == d {
			t.Errorf("%v equals %v", other, d)
		}
	}
}

func TestDefineNames(t *testing.T) {
	for _, name := range []string{
		"a", "orders/eu-1", " ", "Bestellungen für Köln", "注文", "\u2028", "\ufffd", strings.Repeat("n", 255),
	} {
		if got := define(t, name, sequencer.Config{}).Name(); got != name {
			t.Errorf("Name() = %q, want %q", got, name)
		}
	}
	for name, part := range map[string]string{
		"":                              "empty",
		strings.Repeat("n", 256):        "255 bytes",
		strings.Repeat("ü", 128):        "255 bytes",
		strings.Repeat("n", 1<<20):      "255 bytes",
		"a\xff":                         "UTF-8",
		"\xed\xa0\x80":                  "UTF-8",
		"a\x00b":                        "U+0000",
		"line\n":                        "U+000A",
		"\x7f":                          "U+007F",
		"next" + "\u0085" + "line":      "U+0085",
		strings.Repeat("n", 200) + "\t": "U+0009",
	} {
		_, err := sequencer.Define(name, sequencer.Config{})
		if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), part) || len(err.Error()) > 300 {
			t.Errorf("Define(%.40q) = %v; want a short ErrInvalidConfig that says %q", name, err, part)
		}
	}
}

func TestDefineRefusesNodeCounts(t *testing.T) {
	for _, nodes := range []int{-1, 1, 127, 8193} {
		d, err := sequencer.Define("orders", sequencer.Config{Nodes: nodes})
		if !errors.Is(err, sequencer.ErrInvalidConfig) || d != (sequencer.Definition{}) {
			t.Errorf("Define with %d nodes = %v, %v; want ErrInvalidConfig", nodes, d, err)
		}
	}
}

func TestDefineEpochs(t *testing.T) {
	first := epoch.UnixMilli(0)
	last := epoch.At(time.Date(9999, time.December, 31, 23, 59, 59, 999_000_000, time.UTC))
	for _, e := range []epoch.Epoch{first, epoch.Twitter, epoch.Discord, epoch.Default, last} {
		if got := define(t, "orders", sequencer.Config{Epoch: e}).Config().Epoch; got != e {
			t.Errorf("Epoch() = %v, want %v", got, e)
		}
	}
	for _, e := range []epoch.Epoch{math.MinInt64, first - 1, last + 1, math.MaxInt64} {
		_, err := sequencer.Define("orders", sequencer.Config{Epoch: e})
		if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "1970 to 9999") {
			t.Errorf("Define with epoch %v = %v; want ErrInvalidConfig that says the years", e, err)
		}
	}
}

func TestCheckAt(t *testing.T) {
	d := define(t, "orders", sequencer.Config{Epoch: epoch.Twitter})
	start := clustertime.Tick(epoch.Twitter.UnixMilli())
	for _, tc := range []struct {
		name      string
		now       clustertime.Tick
		invalid   bool
		exhausted bool
	}{
		{"smallest time", math.MinInt64, true, false},
		{"1 ms before the epoch", start - 1, true, false},
		{"at the epoch", start, false, false},
		{"last millisecond", start.Add(span) - 1, false, false},
		{"one too late", start.Add(span), true, true},
		{"largest time", math.MaxInt64, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := attachment.CheckNew(d, tc.now)
			if errors.Is(err, sequencer.ErrInvalidConfig) != tc.invalid ||
				errors.Is(err, sequencer.ErrEpochExhausted) != tc.exhausted {
				t.Errorf("CheckNew(%d) = %v", tc.now, err)
			}
			if (err != nil) != tc.invalid {
				t.Errorf("CheckNew(%d) = %v", tc.now, err)
			}
			if err != nil && (!strings.Contains(err.Error(), `"orders"`) ||
				!strings.Contains(err.Error(), epoch.Twitter.String())) {
				t.Errorf("%q does not name the sequencer and its epoch", err)
			}
		})
	}
}

func TestExhausted(t *testing.T) {
	d := define(t, "orders", sequencer.Config{})
	if got, want := d.Exhausted(), time.Date(2060, time.November, 3, 19, 53, 47, 776_000_000, time.UTC); got != want {
		t.Errorf("Exhausted() = %v, want %v", got, want)
	}
	if err := attachment.CheckNew(d, clustertime.TickOf(d.Exhausted())-1); err != nil {
		t.Errorf("CheckNew just before Exhausted() = %v", err)
	}
}

// A worked example with known numbers: 5289132000 ms after the start of 2014.
func TestDecomposeWorkedExample(t *testing.T) {
	d := define(t, "orders", sequencer.Config{Epoch: epoch.UnixMilli(1_388_534_400_000)})
	want := sequencer.Parts{Time: time.UnixMilli(1_393_823_532_000).UTC(), Node: 1234, Counter: 5}
	id, err := d.Compose(want)
	if err != nil {
		t.Fatal(err)
	}
	if wantID := sequencer.ID(5_289_132_000*(1<<23) + 1234*(1<<10) + 5); id != wantID {
		t.Errorf("Compose = %d, want %d", id, wantID)
	}
	if got := d.Decompose(id); got != want {
		t.Errorf("Decompose(%d) = %+v, want %+v", id, got, want)
	}
}

func TestComposeLimits(t *testing.T) {
	d := define(t, "orders", sequencer.Config{})
	start, end := d.Config().Epoch.Time(), d.Exhausted()
	for _, tc := range []struct {
		name  string
		parts sequencer.Parts
		want  sequencer.ID
		says  string // "" if the parts are good
		is    error
	}{
		{"first ID", sequencer.Parts{Time: start}, 0, "", nil},
		{"last ID", sequencer.Parts{Time: end.Add(-1), Node: 8191, Counter: 1023}, math.MaxInt64, "", nil},
		{"below a millisecond", sequencer.Parts{Time: start.Add(2*time.Millisecond - 1)}, 1 << 23, "", nil},
		{"another location", sequencer.Parts{Time: start.Add(time.Millisecond).In(time.FixedZone("x", 3600))},
			1 << 23, "", nil},
		{"before the epoch", sequencer.Parts{Time: start.Add(-1)}, 0, "before the epoch", nil},
		{"no time", sequencer.Parts{}, 0, "0001-01-01T00:00:00Z", nil},
		{"at the end", sequencer.Parts{Time: end}, 0, "2060-11-03T19:53:47.776Z", sequencer.ErrEpochExhausted},
		{"far after the end", sequencer.Parts{Time: time.Unix(1<<60, 0)}, 0, "the end", sequencer.ErrEpochExhausted},
		{"far before the epoch", sequencer.Parts{Time: time.Unix(-1<<60, 0)}, 0, "before the epoch", nil},
		{"node too large", sequencer.Parts{Time: start, Node: 8192}, 0, "0 to 8191", nil},
		{"largest node", sequencer.Parts{Time: start, Node: math.MaxUint16}, 0, "node 65535", nil},
		{"counter 1024 in 10 bits", sequencer.Parts{Time: start, Counter: 1024}, 0, "0 to 1023", nil},
		{"counter 1025 in 10 bits", sequencer.Parts{Time: start, Counter: 1025}, 0, "counter 1025", nil},
		{"largest counter", sequencer.Parts{Time: start, Counter: math.MaxUint32}, 0, "counter 4294967295", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := d.Compose(tc.parts)
			if tc.says == "" {
				if err != nil || got != tc.want {
					t.Errorf("Compose(%+v) = %d, %v; want %d", tc.parts, got, err, tc.want)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), "sequencer: ") || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("Compose(%+v) = %d, %v; want an error that says %q", tc.parts, got, err, tc.says)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v does not match %v", err, tc.is)
			}
		})
	}
}

func TestComposeRefusesTheFirstCounterTooLarge(t *testing.T) {
	for nodes := 128; nodes <= 8192; nodes *= 2 {
		d := define(t, "orders", sequencer.Config{Nodes: nodes})
		counters := uint32(1 << 23 / nodes)
		p := sequencer.Parts{Time: d.Config().Epoch.Time(), Node: sequencer.NodeID(nodes - 1), Counter: counters - 1}
		if _, err := d.Compose(p); err != nil {
			t.Errorf("%d nodes: %v", nodes, err)
		}
		p.Counter++
		if id, err := d.Compose(p); err == nil {
			t.Errorf("%d nodes: counter %d gives ID %d", nodes, p.Counter, id)
		}
	}
}

func TestComposeIsTheInverseOfDecompose(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDefinition(t, rt)
		id := drawID(rt, d)
		p := d.Decompose(id)
		if p.Time.Location() != time.UTC || int(p.Node) >= d.Config().Nodes {
			rt.Fatalf("Decompose(%d) = %+v", id, p)
		}
		if got, err := d.Compose(p); err != nil || got != id {
			rt.Fatalf("Compose(Decompose(%d)) = %d, %v", id, got, err)
		}
	})
}

func TestMinIDAndMaxIDHoldExactlyTheirMillisecond(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDefinition(t, rt)
		id := drawID(rt, d)
		at := d.Decompose(id).Time.Add(time.Duration(rapid.IntRange(0, 999_999).Draw(rt, "ns")))
		lo, hi := d.MinID(at), d.MaxID(at)
		if id < lo || id > hi {
			rt.Fatalf("%d is outside %d..%d", id, lo, hi)
		}
		if hi-lo != 1<<d.Config().Layout.LowBits-1 || d.CompareTime(lo, id) != 0 || d.CompareTime(hi, id) != 0 {
			rt.Fatalf("%d..%d is not the millisecond of %d", lo, hi, id)
		}
	})
}

func TestMinIDAndMaxIDOutsideTheSequencersTime(t *testing.T) {
	const millisecond = 1 << 23
	d := define(t, "orders", sequencer.Config{})
	start, end := d.Config().Epoch.Time(), d.Exhausted()
	for _, tc := range []struct {
		name   string
		at     time.Time
		lo, hi sequencer.ID
	}{
		{"at the epoch", start, 0, millisecond - 1},
		{"before the epoch", start.Add(-1), 0, millisecond - 1},
		{"no time", time.Time{}, 0, millisecond - 1},
		{"before all int64 milliseconds", time.Unix(-1<<60, 0), 0, millisecond - 1},
		{"last millisecond", end.Add(-1), math.MaxInt64 - millisecond + 1, math.MaxInt64},
		{"at the end", end, math.MaxInt64 - millisecond + 1, math.MaxInt64},
		{"after all int64 milliseconds", time.Unix(1<<60, 0), math.MaxInt64 - millisecond + 1, math.MaxInt64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if lo, hi := d.MinID(tc.at), d.MaxID(tc.at); lo != tc.lo || hi != tc.hi {
				t.Errorf("MinID, MaxID = %d, %d; want %d, %d", lo, hi, tc.lo, tc.hi)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	d := define(t, "orders", sequencer.Config{Nodes: 128})
	build := func(offset int64, node sequencer.NodeID, counter uint32) sequencer.ID {
		id, err := d.Compose(sequencer.Parts{
			Time: time.UnixMilli(d.Config().Epoch.UnixMilli() + offset), Node: node, Counter: counter,
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	for _, tc := range []struct {
		name           string
		a, b           sequencer.ID
		time, sequence int
	}{
		{"other node", build(10_000, 1, 1), build(10_000, 2, 1), 0, 0},
		{"later", build(10_000, 1, 1), build(9_999, 1, 1), 1, 1},
		{"earlier", build(10_000, 1, 1), build(10_001, 1, 1), -1, -1},
		{"larger counter", build(10_000, 1, 2), build(10_000, 2, 1), 0, 1},
		{"smaller counter", build(10_000, 2, 1), build(10_000, 1, 2), 0, -1},
		{"time before counter", build(9_999, 1, 9), build(10_000, 1, 1), -1, -1},
		{"the same", build(10_000, 1, 1), build(10_000, 1, 1), 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := d.CompareTime(tc.a, tc.b); got != tc.time {
				t.Errorf("CompareTime = %d, want %d", got, tc.time)
			}
			if got := d.CompareSequence(tc.a, tc.b); got != tc.sequence {
				t.Errorf("CompareSequence = %d, want %d", got, tc.sequence)
			}
		})
	}
}

// drawDefinition draws any epoch of any layout.
func drawDefinition(t *testing.T, rt *rapid.T) sequencer.Definition {
	cfg := sequencer.Config{
		Epoch: epoch.UnixMilli(rapid.Int64Range(0, 253_402_300_799_999).Draw(rt, "epoch")),
		Nodes: rapid.IntRange(128, 8192).Draw(rt, "nodes"),
	}
	if rapid.Bool().Draw(rt, "stated layout") {
		nodeBits := rapid.IntRange(4, 13).Draw(rt, "node bits")
		low := rapid.IntRange(nodeBits+1, 24).Draw(rt, "low bits")
		cfg.Layout = sequencer.Layout{Bits: rapid.IntRange(low+32, min(low+46, 63)).Draw(rt, "bits"), LowBits: low,
			Nodes: 1 << nodeBits}
		cfg.Nodes = rapid.IntRange(16, 1<<nodeBits).Draw(rt, "nodes in it")
		if cfg.Layout == (sequencer.Layout{Bits: 63, LowBits: 23, Nodes: 8192}) {
			cfg.Nodes = 0
		}
	}
	return define(t, "orders", cfg)
}

// drawID draws any ID that a definition can have.
func drawID(rt *rapid.T, d sequencer.Definition) sequencer.ID {
	return sequencer.ID(rapid.Int64Range(0, math.MaxInt64>>(63-d.Config().Layout.Bits)).Draw(rt, "id"))
}
