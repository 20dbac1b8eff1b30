package clustertime

import (
	"errors"
	"strings"
	"testing"
)

func TestClocks(t *testing.T) {
	const now = 1_800_000_000_000
	read := func(at ...Tick) (out []Reading) {
		for i, a := range at {
			out = append(out, Reading{Member: string(rune('a' + i)), At: now + a})
		}
		return out
	}
	for what, c := range map[string]struct {
		readings       []Reading
		median, latest Tick
		refused        string
	}{
		"one":                   {read(0), 0, 0, ""},
		"two":                   {read(0, -30_000), -30_000, 0, ""},
		"slow ones":             {read(0, -60_000, -86_400_000), -60_000, 0, ""},
		"at the limit":          {read(0, 600_000, -5), 0, 600_000, ""},
		"beyond the limit":      {read(0, 1, 600_002), 0, 0, "member c"},
		"the only one of a day": {read(-86_400_000, 0), 0, 0, "member b"},
		"before 2026":           {read(0, -now), 0, 0, "member b"},
		"none":                  {nil, 0, 0, "no clock"},
	} {
		median, latest, err := Clocks(c.readings)
		switch {
		case c.refused != "":
			if !errors.Is(err, ErrClock) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: error %v, want %q in it", what, err, c.refused)
			}
		case err != nil || median != now+c.median || latest != now+c.latest:
			t.Errorf("%s: median %d, latest %d, error %v", what, median-now, latest-now, err)
		}
	}
}

func TestFirst(t *testing.T) {
	begin := func(change func(*Beginning)) Beginning {
		b := Beginning{Median: 90_000, Latest: 100_000, Window: 15_000}
		change(&b)
		return b
	}
	for what, c := range map[string]struct {
		change func(*Beginning)
		want   Tick
	}{
		"memory only":              {func(*Beginning) {}, 120_000},
		"anchored":                 {func(b *Beginning) { b.Anchored = true }, 90_000},
		"anchored, a floor":        {func(b *Beginning) { b.Anchored, b.Floor = true, 95_000 }, 95_001},
		"first life":               {func(b *Beginning) { b.FirstLife = true }, 100_000},
		"durable":                  {func(b *Beginning) { b.Durable = true }, 90_000},
		"durable, first life":      {func(b *Beginning) { b.Durable, b.FirstLife = true, true }, 100_000},
		"a low floor":              {func(b *Beginning) { b.Floor = 110_000 }, 120_000},
		"a high floor":             {func(b *Beginning) { b.Floor = 130_000 }, 130_001},
		"a floor, durable":         {func(b *Beginning) { b.Floor, b.Durable = 91_000, true }, 91_001},
		"a floor and no holder":    {func(b *Beginning) { b.Floor, b.NoHolder = 110_000, true }, 110_001},
		"no floor and no holder":   {func(b *Beginning) { b.NoHolder = true }, 120_000},
		"a floor in a first life":  {func(b *Beginning) { b.Floor, b.FirstLife = 110_000, true }, 110_001},
		"an old floor, first life": {func(b *Beginning) { b.Floor, b.FirstLife = 10, true }, 100_000},
	} {
		if got := begin(c.change).First(); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
}

func TestAfter(t *testing.T) {
	base := []Bound{{Ceiling: 115_000, Time: 100_000, Wall: 100_100, Window: 15_000}, {}}
	with := func(b Bound) []Bound { return []Bound{base[0], b} }
	for what, c := range map[string]struct {
		bounds []Bound
		floor  Tick
		want   Tick
	}{
		"one survivor":            {base, 0, Tick(100_100 + 20_000 + JumpLimit)},
		"a low floor":             {base, 1, 100_100 + 20_000},
		"a high floor":            {base, 900_000, 900_001},
		"a high ceiling":          {with(Bound{Ceiling: 2_000_000}), 0, 2_000_000},
		"a ceiling above a floor": {with(Bound{Ceiling: 900_000}), 500_000, 900_000},
		"a later time":            {with(Bound{Time: 300_000}), 1, 320_000},
		"a later clock":           {with(Bound{Wall: 400_000}), 1, 420_000},
		"a larger window":         {with(Bound{Window: 60_000}), 1, 165_100},
	} {
		got, jump := After(c.bounds, c.floor)
		if got != c.want || (jump == JumpLimit) != (c.floor == 0) {
			t.Errorf("%s: %d, jump %d, want %d", what, got, jump, c.want)
		}
	}
}

func TestRecovered(t *testing.T) {
	base := Bound{Ceiling: 115_000, Time: 100_000, Wall: 100_100, Window: 15_000}
	const margin = 15_000 + 5_000 + 600_000
	for what, c := range map[string]struct {
		bounds []Bound
		floor  Tick
		want   Tick
	}{
		"one disk":       {[]Bound{base}, 0, 115_000 + margin},
		"a higher one":   {[]Bound{base, {Ceiling: 300_000}}, 0, 300_000 + margin},
		"a later clock":  {[]Bound{base, {Wall: 400_000}}, 0, 400_000 + margin},
		"a later time":   {[]Bound{base, {Time: 500_000}}, 0, 500_000 + margin},
		"a high floor":   {[]Bound{base}, 900_000, 900_000 + margin},
		"a low floor":    {[]Bound{base}, 1, 115_000 + margin},
		"a large window": {[]Bound{base, {Window: 60_000}}, 0, 115_000 + margin + 45_000},
	} {
		if got := Recovered(c.bounds, c.floor); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
}
