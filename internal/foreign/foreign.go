// Package foreign describes the IDs of other generators, and how a sequencer continues them.
//
// A [Format] states where an ID has its time, node and counter. [Migration] computes the definition of a
// sequencer whose IDs are all larger than the existing ones, or states why there is none.
package foreign

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Format divides the bits of a generator's IDs.
//
//	node above the counter:  0 | time, the rest | node, NodeBits | counter, CounterBits
//	node below the counter:  0 | time, the rest | counter, CounterBits | node, NodeBits
type Format struct {
	Name        string
	Epoch       epoch.Epoch
	Unit        time.Duration // of the time: a whole number of milliseconds
	TimeBits    int
	NodeBits    int
	CounterBits int
	NodeLow     bool // the node is below the counter
}

// Parts are the fields of an ID.
type Parts struct {
	Time    time.Time // the beginning of its unit, in UTC
	Node    uint32
	Counter uint32
}

// formats are the generators as published, with their default settings.
var formats = []Format{
	{Name: "bwmarrin", Epoch: epoch.Twitter, Unit: time.Millisecond, TimeBits: 41, NodeBits: 10, CounterBits: 12},
	{Name: "twitter", Epoch: epoch.Twitter, Unit: time.Millisecond, TimeBits: 41, NodeBits: 10, CounterBits: 12},
	{Name: "discord", Epoch: epoch.Discord, Unit: time.Millisecond, TimeBits: 41, NodeBits: 10, CounterBits: 12},
	{Name: "sonyflake", Epoch: date(2025, time.January, 1), Unit: 10 * time.Millisecond, TimeBits: 39, NodeBits: 16,
		CounterBits: 8, NodeLow: true},
	{Name: "hazelcast", Epoch: date(2018, time.January, 1), Unit: time.Millisecond, TimeBits: 41, NodeBits: 16,
		CounterBits: 6, NodeLow: true},
	{Name: "leaf", Epoch: epoch.Twitter, Unit: time.Millisecond, TimeBits: 41, NodeBits: 10, CounterBits: 12},
	{Name: "uid-generator", Epoch: date(2016, time.May, 20), Unit: time.Second, TimeBits: 28, NodeBits: 22,
		CounterBits: 13},
	{Name: "mybatis-plus", Epoch: epoch.Twitter, Unit: time.Millisecond, TimeBits: 41, NodeBits: 10, CounterBits: 12},
	{Name: "yitter", Epoch: epoch.UnixMilli(1_582_136_402_000), Unit: time.Millisecond, TimeBits: 51, NodeBits: 6,
		CounterBits: 6},
}

func date(year int, month time.Month, day int) epoch.Epoch {
	return epoch.At(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

// Names returns the names of the known generators.
func Names() (names []string) {
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Find returns the format with a name.
func Find(name string) (Format, error) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, fmt.Errorf("%q is not a known generator; give %s", name, strings.Join(Names(), ", "))
	}
	return formats[i], nil
}

// Of returns the format of a sequencer's IDs.
func Of(d sequencer.Definition) Format {
	cfg := d.Config()
	l := cfg.Layout
	node := bits.Len(uint(cfg.Nodes - 1))
	return Format{
		Name: "snowgrid", Epoch: cfg.Epoch, Unit: time.Millisecond, TimeBits: l.Bits - l.LowBits, NodeBits: node,
		CounterBits: l.LowBits - node,
	}
}

// WithBits returns the format with other widths of node and counter, as the generator's settings have them. The
// time takes the rest of the 63 bits.
func (f Format) WithBits(node, counter int) (Format, error) {
	time := 63 - node - counter
	if node < 1 || node > 32 || counter < 1 || counter > 32 || time < 20 {
		return Format{}, fmt.Errorf("%d node bits and %d counter bits are no layout of 63 bits; give at least 1 of each, "+
			"at most 32, and leave 20 for the time",
			node, counter)
	}
	f.NodeBits, f.CounterBits, f.TimeBits = node, counter, time
	return f, nil
}

// String describes the format: "41 bits of milliseconds since 2010-11-04T01:42:54.657Z | 10 node | 12 counter".
func (f Format) String() string {
	upper, lower := fmt.Sprintf("%d node", f.NodeBits), fmt.Sprintf("%d counter", f.CounterBits)
	if f.NodeLow {
		upper, lower = lower, upper
	}
	unit := map[time.Duration]string{time.Millisecond: "milliseconds", time.Second: "seconds"}[f.Unit]
	if unit == "" {
		unit = "units of " + f.Unit.String()
	}
	return fmt.Sprintf("%d bits of %s since %v | %s | %s", f.TimeBits, unit, f.Epoch, upper, lower)
}

// Shift returns the number of bits below the time.
func (f Format) Shift() int { return f.NodeBits + f.CounterBits }

// Fits reports whether an ID has no bits above the format's.
func (f Format) Fits(id sequencer.ID) bool {
	return id >= 0 && bits.Len64(uint64(id)) <= f.TimeBits+f.Shift()
}

// Ticks returns an ID's time in units since the epoch, its node and its counter.
func (f Format) Ticks(id sequencer.ID) (ticks uint64, node, counter uint32) {
	v := uint64(id)
	upper, lower := f.NodeBits, f.CounterBits
	if f.NodeLow {
		upper, lower = lower, upper
	}
	ticks = v >> (upper + lower)
	high, low := uint32(v>>lower&(1<<upper-1)), uint32(v&(1<<lower-1))
	if f.NodeLow {
		return ticks, low, high
	}
	return ticks, high, low
}

// Decompose splits an ID that fits.
func (f Format) Decompose(id sequencer.ID) Parts {
	ticks, node, counter := f.Ticks(id)
	return Parts{Time: f.Time(ticks), Node: node, Counter: counter}
}

// Time returns the beginning of a unit. It is limited to the year 292277026.
func (f Format) Time(ticks uint64) time.Time {
	unit := uint64(f.Unit.Milliseconds())
	if ticks > math.MaxInt64/2/unit {
		ticks = math.MaxInt64 / 2 / unit
	}
	return time.UnixMilli(f.Epoch.UnixMilli() + int64(ticks*unit)).UTC()
}

// Compose builds the ID with these parts. The caller keeps them within the format.
func (f Format) Compose(p Parts) sequencer.ID {
	ticks := p.Time.Sub(f.Epoch.Time()) / f.Unit
	if f.NodeLow {
		return sequencer.ID(int64(ticks)<<f.Shift() | int64(p.Counter)<<f.NodeBits | int64(p.Node))
	}
	return sequencer.ID(int64(ticks)<<f.Shift() | int64(p.Node)<<f.CounterBits | int64(p.Counter))
}
