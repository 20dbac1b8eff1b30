package foreign_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/foreign"
	"github.com/snowgrid/snowgrid/sequencer"
)

var now = time.Date(2026, time.November, 28, 12, 0, 0, 0, time.UTC)

// TestPublishedIDs: the parts of IDs as their generators document them, or computed from the documented shifts.
func TestPublishedIDs(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	for _, tc := range []struct {
		generator string
		id        sequencer.ID
		want      foreign.Parts
	}{
		{"twitter", 1116766490855473152, foreign.Parts{Time: at(1555092854595)}},
		{"bwmarrin", 1116766490855473152 | 3<<12 | 7, foreign.Parts{Time: at(1555092854595), Node: 3, Counter: 7}},
		{"discord", 175928847299117063, foreign.Parts{Time: at(1462015105796), Node: 1 << 5, Counter: 7}},
		{"leaf", 5<<22 | 1023<<12 | 99, foreign.Parts{Time: at(1288834974662), Node: 1023, Counter: 99}},
		{"mybatis-plus", 5<<22 | 31<<17 | 30<<12 | 1, foreign.Parts{Time: at(1288834974662), Node: 31<<5 | 30, Counter: 1}},
		{"sonyflake", 100<<24 | 255<<16 | 65535, foreign.Parts{Time: at(1735689601000), Node: 65535, Counter: 255}},
		{"hazelcast", 9<<22 | 63<<16 | 2, foreign.Parts{Time: at(1514764800009), Node: 2, Counter: 63}},
		{"uid-generator", 60<<35 | 4194303<<13 | 8191, foreign.Parts{Time: at(1463702460000), Node: 4194303, Counter: 8191}},
		{"yitter", 7<<12 | 63<<6 | 5, foreign.Parts{Time: at(1582136402007), Node: 63, Counter: 5}},
	} {
		f, err := foreign.Find(tc.generator)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Decompose(tc.id); got != tc.want {
			t.Errorf("%s: %v is %+v, not %+v", tc.generator, tc.id, got, tc.want)
		}
		if back := f.Compose(tc.want); back != tc.id {
			t.Errorf("%s: %+v gives %v, not %v", tc.generator, tc.want, back, tc.id)
		}
	}
	if f, err := foreign.Find("ksuid"); err == nil || !strings.Contains(err.Error(), "bwmarrin") {
		t.Errorf("an unknown generator: %+v, %v", f, err)
	}
}

// TestFormatOfASequencer: the format of a definition splits IDs as the definition does.
func TestFormatOfASequencer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := rapid.SampledFrom([]sequencer.Config{{}, {Nodes: 128}, {Layout: sequencer.Twitter(), Epoch: epoch.Twitter},
			{Layout: sequencer.JSSafe(), Nodes: 16}}).Draw(rt, "cfg")
		d, err := sequencer.Define("orders", cfg)
		if err != nil {
			rt.Fatal(err)
		}
		id := sequencer.ID(rapid.Int64Range(0, math.MaxInt64>>(63-d.Config().Layout.Bits)).Draw(rt, "id"))
		got, want := foreign.Of(d).Decompose(id), d.Decompose(id)
		if !got.Time.Equal(want.Time) || got.Node != uint32(want.Node) || got.Counter != want.Counter ||
			!foreign.Of(d).Fits(id) {
			rt.Errorf("%v of %v is %+v, not %+v", id, d, got, want)
		}
	})
}

// TestMigrationIsAboveAllIDs: for any largest ID and any settings of the generator, every ID of the sequencer from the
// floor on is larger.
func TestMigrationIsAboveAllIDs(t *testing.T) {
	for _, name := range foreign.Names() {
		t.Run(name, func(t *testing.T) {
			planned := 0
			rapid.Check(t, func(rt *rapid.T) {
				if isAboveAllIDs(rt, name) {
					planned++
				}
			})
			if planned == 0 {
				t.Error("no migration was planned")
			}
		})
	}
}

// isAboveAllIDs checks a migration from a generator with drawn settings, and reports whether there is one.
func isAboveAllIDs(rt *rapid.T, name string) (planned bool) {
	f, err := foreign.Find(name)
	if err != nil {
		rt.Fatal(err)
	}
	if rapid.Bool().Draw(rt, "other bits") {
		node, counter := rapid.IntRange(1, 22).Draw(rt, "node"), rapid.IntRange(1, 22).Draw(rt, "counter")
		if f, err = f.WithBits(node, counter); err != nil {
			rt.Skip(err)
		}
	}
	most := min(uint64(now.Sub(f.Epoch.Time())/f.Unit), 1<<f.TimeBits-1)
	low := rapid.Uint64Range(0, 1<<f.Shift()-1).Draw(rt, "low")
	id := sequencer.ID(rapid.Uint64Range(0, most).Draw(rt, "ticks")<<f.Shift() | low)
	plan, err := foreign.Migration(foreign.Request{Format: f, Max: id, Now: now})
	if err != nil {
		if !strings.Contains(err.Error(), "within a year") {
			rt.Errorf("%v: %v", id, err)
		}
		return false
	}
	d, err := sequencer.Define("orders", plan.Config)
	if err != nil {
		rt.Fatal(err)
	}
	if plan.First <= id || d.MinID(plan.Floor) != plan.First || plan.Floor.After(now.Add(2*f.Unit)) {
		rt.Errorf("%v is above the first ID %v at %v of %v", id, plan.First, plan.Floor, d)
	}
	was, is := f.Decompose(id), d.Decompose(id)
	if plan.Same && (was.Node != uint32(is.Node) || !was.Time.Equal(is.Time)) {
		rt.Errorf("%v is read differently by %v", id, d)
	}
	return true
}

func TestParallelMigration(t *testing.T) {
	id := func(f foreign.Format, node uint32) sequencer.ID {
		return f.Compose(foreign.Parts{Time: now.Add(-time.Hour), Node: node, Counter: 1})
	}
	for _, tc := range []struct {
		generator string
		node      uint32
		old, want sequencer.NodeRange
		refused   string
	}{
		{generator: "bwmarrin", node: 511, want: sequencer.NodeRange{Lo: 512, Hi: 1023}},
		{generator: "yitter", node: 0, want: sequencer.NodeRange{Lo: 32, Hi: 63}},
		{generator: "leaf", node: 1000, old: sequencer.NodeRange{Lo: 900, Hi: 1023}, want: sequencer.NodeRange{Hi: 899}},
		{generator: "discord", node: 5, old: sequencer.NodeRange{Lo: 5, Hi: 5}, want: sequencer.NodeRange{Lo: 6, Hi: 1023}},
		{generator: "twitter", node: 512, refused: "has node 512"},
		{generator: "twitter", node: 5, old: sequencer.NodeRange{Hi: 1023}, refused: "uses all 1024 nodes"},
		{generator: "twitter", node: 5, old: sequencer.NodeRange{Lo: 1, Hi: 1023}, refused: "leaves node 0 alone"},
		{generator: "twitter", node: 5, old: sequencer.NodeRange{Hi: 1024}, refused: "not within 0 to 1023"},
		{generator: "sonyflake", refused: "the unit of its time is 10ms"},
		{generator: "hazelcast", refused: "its node is below the counter"},
		{generator: "uid-generator", refused: "the unit of its time is 1s"},
	} {
		f, err := foreign.Find(tc.generator)
		if err != nil {
			t.Fatal(err)
		}
		request := foreign.Request{Format: f, Max: id(f, tc.node), Now: now, Parallel: true, Nodes: tc.old}
		if tc.generator == "uid-generator" { // its published bits ended in 2024
			request.Max = f.Compose(foreign.Parts{Time: time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)})
		}
		plan, err := foreign.Migration(request)
		if tc.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s beside node %d, %v: %+v, %v", tc.generator, tc.node, tc.old, plan, err)
			}
			continue
		}
		if err != nil || plan.Config.NodeRange != tc.want || !plan.Parallel || !plan.Same {
			t.Errorf("%s beside node %d, %v: %+v, %v", tc.generator, tc.node, tc.old, plan, err)
		}
	}
}

// TestMigrationOfOtherFormats: after another unit of time a sequencer has an epoch of its own, early enough and no
// earlier; after another order of the bits the same.
func TestMigrationOfOtherFormats(t *testing.T) {
	for _, tc := range []struct {
		generator     string
		epoch         string // the generator's
		node, counter int
		want          string // the sequencer's epoch, layout
	}{
		{"sonyflake", "2025-01-01", 16, 8, "2026-01-01T00:00:00.000Z 63/23/8192"},
		{"sonyflake", "2014-09-01", 16, 8, "2024-06-17T00:00:00.000Z 63/23/8192"},
		{"uid-generator", "2016-09-20", 21, 13, "1985-03-05T00:00:00.000Z 63/22/4096"},
		{"uid-generator", "2016-09-20", 10, 12, "2026-01-01T00:00:00.000Z 63/23/8192"},
		{"hazelcast", "2018-01-01", 10, 12, "2018-01-01T00:00:00.000Z 63/22/1024"}, // the node below the counter
	} {
		f, err := foreign.Find(tc.generator)
		if err != nil {
			t.Fatal(err)
		}
		if f, err = f.WithBits(tc.node, tc.counter); err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.DateOnly, tc.epoch)
		if err != nil {
			t.Fatal(err)
		}
		f.Epoch = epoch.At(at)
		plan, err := foreign.Migration(foreign.Request{Format: f, Max: f.Compose(foreign.Parts{Time: now}), Now: now})
		if err != nil || plan.Same {
			t.Errorf("%s since %s: %+v, %v", tc.generator, tc.epoch, plan, err)
			continue
		}
		d, err := sequencer.Define("orders", plan.Config)
		if got := d.Config().Epoch.String() + " " + d.Config().Layout.String(); err != nil || got != tc.want {
			t.Errorf("%s since %s: %s, not %s, %v", tc.generator, tc.epoch, got, tc.want, err)
		}
	}
}

func TestMigrationRefused(t *testing.T) {
	uid, err := foreign.Find("uid-generator")
	if err != nil {
		t.Fatal(err)
	}
	tweet, _ := foreign.Find("twitter")
	yitter, _ := foreign.Find("yitter")
	narrow, _ := tweet.WithBits(4, 6)
	narrow.TimeBits = 30
	for text, r := range map[string]foreign.Request{
		"within a year":            {Format: uid, Max: math.MaxInt64 / 1000 * 985, Now: now.AddDate(-2, -1, 0)},
		"would be of 2070-":        {Format: tweet, Max: math.MaxInt64 / 100 * 86, Now: now},
		"would be of 73":           {Format: yitter, Max: math.MaxInt64, Now: now},
		"is not an ID of twitter,": {Format: narrow, Max: 1 << 45, Now: now},
	} {
		if plan, err := foreign.Migration(r); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %+v, %v", text, plan, err)
		}
	}
	for _, widths := range [][2]int{{0, 12}, {10, 0}, {33, 1}, {22, 22}} {
		if f, err := uid.WithBits(widths[0], widths[1]); err == nil {
			t.Errorf("%v bits give %v", widths, f)
		}
	}
}
